/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 decoding of any bytes. Header-only, because the CLI, which uses nothing but the library's
 * public header, needs the same functions. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD, for a byte that belongs to no character */

static inline bool utf8_is_tail(uint8_t c)
{
	return (c & 0xc0) == 0x80;
}

/* The second byte excludes overlong forms, surrogates and code points above U+10FFFF. */
static inline bool utf8_is_second(uint8_t lead, uint8_t c)
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
		return utf8_is_tail(c);
	}
}

/* Length of the well-formed character at s (Unicode table 3-7), 0 if there is none. s is NUL-terminated; the
 * NUL is a character of one byte. No byte is read before the previous one was found valid: a NUL ends it. */
static inline size_t utf8_char_bytes(const char *s)
{
	const uint8_t *u = (const uint8_t *)s;

	if (u[0] < 0x80)
		return 1;
	if (u[0] < 0xc2 || u[0] > 0xf4 || !utf8_is_second(u[0], u[1]))
		return 0;
	if (u[0] < 0xe0)
		return 2;
	if (!utf8_is_tail(u[2]))
		return 0;
	if (u[0] < 0xf0)
		return 3;
	return utf8_is_tail(u[3]) ? 4 : 0;
}

/* The code point of a well-formed character of n bytes. */
static inline uint32_t utf8_code_point(const char *s, size_t n)
{
	static const uint8_t lead_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = (uint8_t)s[0] & lead_bits[n];

	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((uint8_t)s[i] & 0x3f);
	return c;
}

#endif
