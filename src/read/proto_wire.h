/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire format of protocol buffers, read through a cursor: a message is a sequence of fields, each a
 * number, a wire type and a value. Groups (wire types 3 and 4) are obsolete and refused.
 */
#ifndef READ_PROTO_WIRE_H
#define READ_PROTO_WIRE_H

#include "base/cursor.h"

#define PROTO_MAX_VARINT_BYTES 10

enum proto_wire_type {
	PROTO_VARINT = 0,
	PROTO_FIXED64 = 1,
	PROTO_BYTES = 2, /* a message, a string, or packed numbers */
	PROTO_FIXED32 = 5,
};

struct proto_field {
	uint32_t number; /* never 0 */
	enum proto_wire_type type;
	uint64_t value;      /* of a number */
	struct cursor bytes; /* of PROTO_BYTES */
};

/* Marks the cursor bad if it ends inside of the number, or the number has more than 64 bits. */
static inline uint64_t proto_varint(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < PROTO_MAX_VARINT_BYTES; i++) {
		uint8_t byte = cursor_u8(c);

		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80))
			return value;
	}
	c->bad = true;
	return 0;
}

/* Reads the number and the type of a field, and of PROTO_BYTES the length into ->value. False: the cursor
 * is bad. */
static inline bool proto_head(struct cursor *c, struct proto_field *ret_field)
{
	uint64_t tag = proto_varint(c), number = tag >> 3;

	*ret_field = (struct proto_field){ (uint32_t)number, tag & 7, 0, { 0 } };
	if (number == 0 || number > UINT32_MAX >> 3 || (tag & 7) > PROTO_FIXED32 ||
	    (tag & 7) == 3 || (tag & 7) == 4)
		c->bad = true;
	else if (ret_field->type == PROTO_VARINT || ret_field->type == PROTO_BYTES)
		ret_field->value = proto_varint(c);
	return !c->bad;
}

/* The next field; false at the end, and if the cursor is bad. */
static inline bool proto_next(struct cursor *c, struct proto_field *ret_field)
{
	if (!cursor_left(c) || !proto_head(c, ret_field))
		return false;
	if (ret_field->type == PROTO_FIXED64) {
		ret_field->value = cursor_u64(c);
	} else if (ret_field->type == PROTO_FIXED32) {
		ret_field->value = cursor_u32(c);
	} else if (ret_field->type == PROTO_BYTES) {
		const uint8_t *bytes = cursor_take(c, ret_field->value);

		if (bytes)
			ret_field->bytes = cursor_of(bytes, ret_field->value);
	}
	return !c->bad;
}

/* A repeated number: packed, many in one field, or a field for each. */
struct proto_numbers {
	struct cursor packed;
	uint64_t single;
	bool has_single;
};

static inline struct proto_numbers proto_numbers_of(const struct proto_field *f)
{
	return (struct proto_numbers){ f->bytes, f->value, f->type != PROTO_BYTES };
}

/* The next number; false at the end, and if packed is bad. */
static inline bool proto_next_number(struct proto_numbers *n, uint64_t *ret_value)
{
	if (n->has_single) {
		n->has_single = false;
		*ret_value = n->single;
		return true;
	}
	if (!cursor_left(&n->packed))
		return false;
	*ret_value = proto_varint(&n->packed);
	return !n->packed.bad;
}

#endif
