/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "ffffffff81000000 T _text", followed by "\t[module]" for modules, and by "\t[bpf]" for BPF
 * programs.
 */
#include "symbolize/kallsyms.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define KALLSYMS_MAX_BYTES (1ull << 30)
#define READ_BYTES (256u << 10) /* also the longest line that is parsed */
#define ENOUGH_ZEROES 1000u     /* either addresses are shown, or none is */

struct reader {
	struct kernel_symbols *to;
	bool is_in_long_line; /* the beginning of the line did not fit and is gone */
};

void kernel_symbols_init(struct kernel_symbols *to)
{
	ksym_table_init(&to->lasting);
	ksym_table_init(&to->passing);
	to->nr_zeroes = 0;
}

void kernel_symbols_done(struct kernel_symbols *to)
{
	ksym_table_done(&to->lasting);
	ksym_table_done(&to->passing);
}

/* Code symbols only. Aliases: global before weak before local. -1: not code. */
static int rank_of_type(char type)
{
	switch (type) {
	case 'T':
		return 3;
	case 'W':
		return 2;
	case 'w':
		return 1;
	case 't':
		return 0;
	default:
		return -1;
	}
}

static const char *parse_hex(const char *at, const char *end, uint64_t *ret_value)
{
	uint64_t v = 0;
	const char *p = at;

	for (; p < end; p++) {
		unsigned char c = (unsigned char)*p;

		if (c >= '0' && c <= '9')
			v = v << 4 | (c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (c - 'a' + 10);
		else
			break;
	}
	*ret_value = v;
	return p > at && p - at <= 16 ? p : NULL;
}

static const char *end_of_word(const char *at, const char *end)
{
	while (at < end && *at != ' ' && *at != '\t' && *at != '\0')
		at++;
	return at;
}

static struct ksym_text split_line(const char *at, const char *end)
{
	const char *name_end = end_of_word(at, end);
	const char *module = name_end < end ? name_end + 1 : end;
	const char *module_end = end_of_word(module, end);

	if (module == module_end || *module != '[')
		module_end = module;
	return (struct ksym_text){ at, (size_t)(name_end - at), module,
				   (size_t)(module_end - module) };
}

static bool starts_with(const struct ksym_text *t, const char *what)
{
	size_t n = strlen(what);

	return t->module_bytes >= n && memcmp(t->module, what, n) == 0;
}

/* True for BPF programs and, by the names that the kernel gives them, for pages of kprobes and
 * ftrace. */
static bool is_passing(const struct ksym_text *t)
{
	return starts_with(t, "[bpf]") || starts_with(t, "[__builtin__");
}

/* Lines of any other format are skipped. */
static int parse_line(struct reader *rd, const char *at, const char *end)
{
	uint64_t addr;
	const char *p = parse_hex(at, end, &addr);
	struct ksym_text text;
	int rank;

	if (rd->is_in_long_line) {
		rd->is_in_long_line = false;
		return 0;
	}
	if (!p || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return 0;
	rank = rank_of_type(p[1]);
	if (rank < 0)
		return 0;
	if (addr == 0) {
		rd->to->nr_zeroes++;
		return 0;
	}
	text = split_line(p + 3, end);
	if (!text.name_bytes)
		return 0;
	return ksym_table_add(is_passing(&text) ? &rd->to->passing : &rd->to->lasting, addr,
			      (unsigned int)rank, &text);
}

/* Parses all complete lines of the buffer; moves the rest to its front. */
static int parse_lines(struct reader *rd, char *bytes, size_t *n)
{
	const char *at = bytes, *end = bytes + *n, *newline;

	while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
		int r = parse_line(rd, at, newline);

		if (r < 0)
			return r;
		at = newline + 1;
	}
	*n = (size_t)(end - at);
	memmove(bytes, at, *n);
	if (*n == READ_BYTES) {
		*n = 0;
		rd->is_in_long_line = true;
	}
	return 0;
}

static bool is_blank(const struct kernel_symbols *to)
{
	return to->nr_zeroes >= ENOUGH_ZEROES && !to->lasting.nr && !to->passing.nr;
}

static int parse_file(struct reader *rd, int fd)
{
	_cleanup_(freep) char *bytes = malloc(READ_BYTES);
	size_t left = 0;
	uint64_t total = 0;

	if (!bytes)
		return -ENOMEM;
	while (total < KALLSYMS_MAX_BYTES && !is_blank(rd->to)) {
		ssize_t got = read(fd, bytes + left, READ_BYTES - left);
		int r;

		/* EAGAIN: an iterator that has skipped many symbols wants to be read again. */
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return parse_line(rd, bytes, bytes + left);
		left += (size_t)got;
		total += (uint64_t)got;
		r = parse_lines(rd, bytes, &left);
		if (r < 0)
			return r;
	}
	return 0;
}

int kallsyms_read(int fd, struct kernel_symbols *to)
{
	struct reader rd = { .to = to };
	int r = parse_file(&rd, fd);

	if (r < 0 && r != -E2BIG) /* over a limit: the symbols so far are used */
		return r;
	r = ksym_table_finish(&to->lasting);
	return r < 0 ? r : ksym_table_finish(&to->passing);
}
