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

/* The code point of a well-formed character of n bytes. */
static uint32_t code_point(const char *s, size_t n)
{
	static const uint8_t lead_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = (uint8_t)s[0] & lead_bits[n];

	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((uint8_t)s[i] & 0x3f);
	return c;
}

static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

/* Invisible ones that change how others are shown, as cli/text.c has them: directions, line ends,
 * joiners, tags (Unicode 15, general category Cf, Zl and Zp). */
static bool is_format_control(uint32_t c)
{
	return c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	       (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe007f);
}

static bool is_clean(const char *s, size_t n)
{
	uint32_t c = code_point(s, n);

	return !is_control(c) && !is_format_control(c);
}

bool text_is_clean(const char *s)
{
	while (*s) {
		size_t n = text_char_bytes(s);

		if (!n || !is_clean(s, n))
			return false;
		s += n;
	}
	return true;
}

static int append_char(struct buf *to, const char *s, size_t n, bool is_frame)
{
	if (!n)
		return buf_append(to, REPLACEMENT, strlen(REPLACEMENT));
	if (!is_clean(s, n))
		return buf_append(to, "?", 1);
	if (is_frame && *s == ';')
		return buf_append(to, ":", 1);
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

int text_append_clean(struct buf *to, const char *s)
{
	return append_text(to, s, false);
}

int text_append_frame(struct buf *to, const char *s)
{
	return append_text(to, s, true);
}
