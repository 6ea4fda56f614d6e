/* SPDX-License-Identifier: Apache-2.0 */
#include "write/text.h"

#include <stdint.h>
#include <string.h>

#include "base/buf.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

static bool is_tail(uint8_t c)
{
	return (c & 0xc0) == 0x80;
}

/* The second byte rules out overlong forms, surrogates and what lies above U+10FFFF. */
static bool is_second(uint8_t lead, uint8_t c)
{
	switch (lead) {
	case 0xe0:
		return c >= 0xa0 && c <= 0xbf;
	case 0xed:
		return c >= 0x80 && c <= 0x9f;
	case 0xf0:
		return c >= 0x90 && c <= 0xbf;
	case 0xf4:
		return c >= 0x80 && c <= 0x8f;
	default:
		return is_tail(c);
	}
}

/* No byte is read before the one in front of it was found good: a NUL ends it. */
size_t text_char_bytes(const char *s)
{
	const uint8_t *u = (const uint8_t *)s;

	if (u[0] < 0x80)
		return 1;
	if (u[0] < 0xc2 || u[0] > 0xf4 || !is_second(u[0], u[1]))
		return 0;
	if (u[0] < 0xe0)
		return 2;
	if (!is_tail(u[2]))
		return 0;
	if (u[0] < 0xf0)
		return 3;
	return is_tail(u[3]) ? 4 : 0;
}

bool text_is_utf8(const char *s)
{
	while (*s) {
		size_t n = text_char_bytes(s);

		if (!n)
			return false;
		s += n;
	}
	return true;
}

/* Controls are C0, DEL and, in two bytes, C1 (U+0080 to U+009F). */
static bool is_control(const char *s)
{
	const uint8_t *u = (const uint8_t *)s;

	return u[0] < 0x20 || u[0] == 0x7f || (u[0] == 0xc2 && u[1] < 0xa0);
}

static int append_char(struct buf *to, const char *s, size_t n, bool is_frame)
{
	if (!n)
		return buf_append(to, REPLACEMENT, strlen(REPLACEMENT));
	if (is_frame && *s == ';')
		return buf_append(to, ":", 1);
	if (is_frame && is_control(s))
		return buf_append(to, "?", 1);
	return buf_append(to, s, n);
}

static int append_text(struct buf *to, const char *s, bool is_frame)
{
	while (*s) {
		size_t n = text_char_bytes(s);
		int r = append_char(to, s, n, is_frame);

		if (r < 0)
			return r;
		s += n ? n : 1;
	}
	return 0;
}

int text_append_utf8(struct buf *to, const char *s)
{
	return append_text(to, s, false);
}

int text_append_frame(struct buf *to, const char *s)
{
	return append_text(to, s, true);
}
