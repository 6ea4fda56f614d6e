/* SPDX-License-Identifier: Apache-2.0 */
/* Characters that a name must not contain when it is shown. Header-only, because the CLI, which
 * uses nothing but the library's public header, needs the same list. */
#ifndef BASE_HIDDEN_CHAR_H
#define BASE_HIDDEN_CHAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Characters that are invisible, look like a space, or change how others are shown: Unicode 15, general
 * categories Cf, Zl, Zp and Zs (but the space itself), Default_Ignorable_Code_Point, and the Braille
 * blank. */
static const struct {
	uint32_t first, last;
} hidden_chars[] = {
	{ 0xa0, 0xa0 },       { 0xad, 0xad },       { 0x34f, 0x34f },     { 0x600, 0x605 },
	{ 0x61c, 0x61c },     { 0x6dd, 0x6dd },     { 0x70f, 0x70f },     { 0x890, 0x891 },
	{ 0x8e2, 0x8e2 },     { 0x115f, 0x1160 },   { 0x1680, 0x1680 },   { 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f },   { 0x2000, 0x200f },   { 0x2028, 0x202f },   { 0x205f, 0x206f },
	{ 0x2800, 0x2800 },   { 0x3000, 0x3000 },   { 0x3164, 0x3164 },   { 0xfe00, 0xfe0f },
	{ 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },   { 0x110bd, 0x110bd },
	{ 0x110cd, 0x110cd }, { 0x13430, 0x1343f }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
	{ 0xe0000, 0xe0fff },
};

static inline bool is_hidden_char(uint32_t c)
{
	for (size_t i = 0;
	     i < sizeof(hidden_chars) / sizeof(hidden_chars[0]) && c >= hidden_chars[i].first; i++)
		if (c <= hidden_chars[i].last)
			return true;
	return false;
}

static inline bool is_control_char(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

/* True if the character is for a reader: neither a control (C0, DEL, C1), which addresses a terminal, nor
 * hidden. */
static inline bool is_clean_char(uint32_t c)
{
	return !is_control_char(c) && !is_hidden_char(c);
}

#endif
