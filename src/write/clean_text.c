/* SPDX-License-Identifier: Apache-2.0 */
#include "write/clean_text.h"

#include <string.h>

#include "base/buf.h"
#include "base/hidden_char.h"
#include "base/utf8.h"

static bool is_clean(const char *s, size_t n)
{
	return is_clean_char(utf8_code_point(s, n));
}

bool text_is_clean(const char *s)
{
	while (*s) {
		size_t n = utf8_char_bytes(s);

		if (!n || !is_clean(s, n))
			return false;
		s += n;
	}
	return true;
}

static int append_char(struct buf *to, const char *s, size_t n, bool is_frame)
{
	if (!n)
		return buf_append(to, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT));
	if (!is_clean(s, n))
		return buf_append(to, "?", 1);
	if (is_frame && *s == ';')
		return buf_append(to, ":", 1);
	return buf_append(to, s, n);
}

static int append_text(struct buf *to, const char *s, bool is_frame)
{
	while (*s) {
		size_t n = utf8_char_bytes(s);
		int r = append_char(to, s, n, is_frame);

		if (r < 0)
			return r;
		s += n ? n : 1;
	}
	return 0;
}

int text_append_clean(struct buf *to, const char *s)
{
	return append_text(to, s, false);
}

int text_append_frame(struct buf *to, const char *s)
{
	return append_text(to, s, true);
}
