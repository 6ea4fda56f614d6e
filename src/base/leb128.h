/* SPDX-License-Identifier: Apache-2.0 */
/* Variable-length integers (DWARF 5, 7.6), read through a cursor. Bits beyond the 64th are dropped;
 * an encoding longer than LEB128_MAX_BYTES, padding included, marks the cursor bad. */
#ifndef BASE_LEB128_H
#define BASE_LEB128_H

#include "base/cursor.h"

#define LEB128_MAX_BYTES 32 /* 10 bytes hold 64 bits; the limit bounds the cost of one number */

static inline uint64_t cursor_uleb128(struct cursor *c)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	/* Nearly all numbers are a single byte. (Reading from a bad cursor is harmless: it stays
	 * bad.) */
	if (c->at < c->end && *c->at < 0x80)
		return *c->at++;
	do {
		byte = cursor_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		else if (shift >= 7 * LEB128_MAX_BYTES)
			c->bad = true;
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
		else if (shift >= 7 * LEB128_MAX_BYTES)
			c->bad = true;
		shift += 7;
	} while ((byte & 0x80) && !c->bad);
	if (shift < 64 && (byte & 0x40))
		value |= ~0ull << shift;
	return (int64_t)value;
}

#endif
