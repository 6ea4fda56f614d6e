/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "<start> <size> <name>", both in hexadecimal, one line per piece of code, in the order of
 * creation: of lines that cover an address the last one counts. The file is read once; one number
 * per sampled address is kept.
 */
#include <errno.h>
#include <string.h>

#include "symbolize/jit_cover.h"
#include "symbolize/jit_internal.h"

struct perf_map_line {
	uint64_t start, end;
	const char *name;
	size_t name_len;
};

static const char *parse_hex(const char *at, const char *end, uint64_t *ret_value)
{
	const char *p;
	uint64_t v = 0;

	if (end - at > 2 && at[0] == '0' && (at[1] | 0x20) == 'x')
		at += 2;
	for (p = at; p < end; p++) {
		unsigned char c = (unsigned char)*p, digit = (unsigned char)(c - '0');

		if (digit > 9)
			digit = (unsigned char)((c | 0x20) - 'a') <= 5
					? (unsigned char)((c | 0x20) - 'a' + 10)
					: 16;
		if (digit > 15)
			break;
		v = v << 4 | digit;
	}
	*ret_value = v;
	return p > at && p - at <= 16 && p < end && *p == ' ' ? p + 1 : NULL;
}

static bool parse_line(const char *at, const char *end, struct perf_map_line *ret)
{
	uint64_t size;

	at = parse_hex(at, end, &ret->start);
	if (at)
		at = parse_hex(at, end, &size);
	while (at && at < end && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	if (!at || at == end || size == 0 || __builtin_add_overflow(ret->start, size, &ret->end))
		return false;
	ret->name = at;
	ret->name_len = (size_t)(end - at);
	return true;
}

/* Notes all complete lines of n bytes at `offset` of the file; returns their size. */
static size_t note_lines(struct jit_cover *cover, struct jit_counts *counts, const char *bytes,
			 size_t n, uint64_t offset, bool *is_in_long_line)
{
	const char *at = bytes, *end = bytes + n, *newline;
	struct perf_map_line line;

	while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
		bool is_rest = *is_in_long_line;

		*is_in_long_line = false;
		counts->nr_map_lines += !is_rest;
		if (!is_rest && parse_line(at, newline, &line))
			jit_cover_put(cover, line.start, line.end,
				      offset + (uint64_t)(at - bytes) + 1);
		else
			counts->nr_map_bad_lines += !is_rest;
		at = newline + 1;
	}
	return (size_t)(at - bytes);
}

/* The last line is ignored if it has no end, because it is still being written. */
static void note_file(struct jit_cover *cover, struct jit_counts *counts, struct jit_reader *r)
{
	bool is_in_long_line = false;
	uint64_t at = 0;
	size_t got;

	for (;;) {
		const uint8_t *bytes = jit_reader_get(r, at, JIT_READ_BYTES, &got);
		size_t used =
			note_lines(cover, counts, (const char *)bytes, got, at, &is_in_long_line);

		if (used == 0 && got == JIT_READ_BYTES) { /* a line longer than the window */
			counts->nr_map_lines += !is_in_long_line;
			counts->nr_map_bad_lines += !is_in_long_line;
			is_in_long_line = true;
			used = got;
		}
		if (used == 0)
			return;
		at += used;
		if (at >= JIT_MAX_FILE_BYTES) { /* 20 million lines; the rest is counted */
			counts->nr_maps_too_large++;
			return;
		}
	}
}

static int name_from_line(const struct jit_task *t, uint32_t i, struct jit_reader *r,
			  uint64_t offset)
{
	size_t got;
	const char *at = (const char *)jit_reader_get(r, offset, JIT_MAX_NAME_BYTES + 64, &got);
	const char *newline = memchr(at, '\n', got);
	struct perf_map_line line;
	bool is_v8;

	if (!newline && got < JIT_MAX_NAME_BYTES)
		return 0; /* the file has changed since */
	if (!parse_line(at, newline ? newline : at + got, &line) ||
	    t->list->addrs[i] < line.start || t->list->addrs[i] >= line.end)
		return 0;
	return jit_found_set(t, i, line.name, line.name_len, &is_v8);
}

static int read_map(struct jit_cover *cover, struct jit_reader *r, const struct jit_task *t)
{
	int res = 0;

	note_file(cover, t->counts, r);
	r->read_bytes = JIT_READ_HERE_AND_THERE_BYTES;
	for (uint32_t i = 0; i < t->list->nr && res == 0; i++) {
		uint64_t number = t->found[i].name ? 0 : jit_cover_last(cover, i);

		if (number)
			res = name_from_line(t, i, r, number - 1);
	}
	return res;
}

int perf_map_read(int fd, const struct jit_task *t)
{
	struct jit_reader reader;
	struct jit_cover cover;
	int r = jit_reader_init(&reader, fd, t->cancel);

	if (r < 0)
		return r;
	reader.max_bytes = t->max_bytes;
	r = jit_cover_init(&cover, t->list->addrs, t->list->nr);
	if (r == 0)
		r = read_map(&cover, &reader, t);
	t->counts->nr_maps++;
	jit_cover_done(&cover);
	jit_reader_done(&reader);
	return r;
}
