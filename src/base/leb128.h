/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of variable length (DWARF 5, 7.6), read through a cursor. Bits past the 64th are lost. */
#ifndef BASE_LEB128_H
#define BASE_LEB128_H

#include "base/cursor.h"

static inline uint64_t cursor_uleb128(struct cursor *c)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	/* Nearly all are a single byte. (A bad cursor may read one: it stays bad.) */
	if (c->at < c->end && *c->at < 0x80)
		return *c->at++;
	do {
		byte = cursor_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && !c->bad);
	return value;
}

static inline int64_t cursor_sleb128(struct cursor *c)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = cursor_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && !c->bad);
	if (shift < 64 && (byte & 0x40))
		value |= ~0ull << shift;
	return (int64_t)value;
}

#endif
