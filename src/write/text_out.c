/* SPDX-License-Identifier: Apache-2.0 */
#include "write/text_out.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void text_out_init(struct text_out *t, struct outfile *file, const atomic_bool *cancel,
		   struct pa_error *err)
{
	t->file = file;
	t->cancel = cancel;
	t->err = err;
	t->result = 0;
	t->nr = 0;
}

int text_out_flush(struct text_out *t)
{
	if (t->result == 0 && t->cancel && atomic_load_explicit(t->cancel, memory_order_relaxed))
		t->result = error_set(t->err, ECANCELED, "writing '%s' was cancelled",
				      outfile_path(t->file));
	if (t->result == 0)
		t->result = outfile_write(t->file, t->bytes, t->nr, t->err);
	t->nr = 0;
	return t->result;
}

static void append(struct text_out *t, const char *bytes, size_t n)
{
	memcpy(t->bytes + t->nr, bytes, n);
	t->nr += n;
}

void text_out_bytes(struct text_out *t, const char *bytes, size_t n)
{
	if (t->result < 0)
		return;
	if (n > sizeof(t->bytes) - t->nr)
		(void)text_out_flush(t); /* the failure is kept in t->result */
	if (t->result == 0 && n > sizeof(t->bytes))
		t->result = outfile_write(t->file, bytes, n, t->err);
	else if (t->result == 0)
		append(t, bytes, n);
}

void text_out_text(struct text_out *t, const char *s)
{
	text_out_bytes(t, s, strlen(s));
}

void text_out_number(struct text_out *t, int64_t n)
{
	char digits[24], *end = digits + sizeof(digits), *at = end;
	uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n;

	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (n < 0)
		*--at = '-';
	text_out_bytes(t, at, (size_t)(end - at));
}

static bool is_plain_in_json(unsigned char c)
{
	return c >= 0x20 && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
}

void text_out_json(struct text_out *t, const char *s)
{
	text_out_bytes(t, "\"", 1);
	while (*s && t->result == 0) {
		size_t n = 0;
		char escape[8];

		while (s[n] && is_plain_in_json((unsigned char)s[n]))
			n++;
		text_out_bytes(t, s, n);
		s += n;
		if (!*s)
			break;
		(void)snprintf(escape, sizeof(escape), "\\u%04x", (unsigned char)*s++);
		text_out_bytes(t, escape, 6);
	}
	text_out_bytes(t, "\"", 1);
}
