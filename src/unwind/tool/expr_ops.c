/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/tool/expr_ops.h"

#include <dwarf.h>

#include "base/leb128.h"

static uint64_t take_const(struct cursor *c, uint8_t atom)
{
	switch (atom) {
	case DW_OP_const1u:
		return cursor_u8(c);
	case DW_OP_const1s:
		return (uint64_t)(int8_t)cursor_u8(c);
	case DW_OP_const2u:
		return cursor_u16(c);
	case DW_OP_const2s:
		return (uint64_t)(int16_t)cursor_u16(c);
	case DW_OP_const4u:
		return cursor_u32(c);
	case DW_OP_const4s:
		return (uint64_t)(int64_t)cursor_s32(c);
	case DW_OP_constu:
		return cursor_uleb128(c);
	case DW_OP_consts:
		return (uint64_t)cursor_sleb128(c);
	default:
		return cursor_u64(c);
	}
}

static bool has_no_operand(uint8_t atom)
{
	return (atom >= DW_OP_dup && atom <= DW_OP_plus && atom != DW_OP_pick) ||
	       (atom >= DW_OP_shl && atom <= DW_OP_ne && atom != DW_OP_bra) ||
	       (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) || atom == DW_OP_deref ||
	       atom == DW_OP_nop;
}

static bool take_op(struct cursor *c, Dwarf_Op *op)
{
	op->atom = cursor_u8(c);
	if (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts)
		op->number = take_const(c, op->atom);
	else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		op->number = (uint64_t)cursor_sleb128(c);
	else if (op->atom == DW_OP_plus_uconst)
		op->number = cursor_uleb128(c);
	else if (op->atom == DW_OP_bregx) {
		op->number = cursor_uleb128(c);
		op->number2 = (uint64_t)cursor_sleb128(c);
	} else if (!has_no_operand(op->atom))
		return false;
	return !c->bad;
}

bool expr_ops(const uint8_t *bytes, size_t len, Dwarf_Op *ops, size_t *ret_nr)
{
	struct cursor c = cursor_of(bytes, len);
	size_t nr = 0;

	while (c.at < c.end) {
		if (nr == EXPR_MAX_OPS)
			return false;
		ops[nr] = (Dwarf_Op){ 0 };
		if (!take_op(&c, &ops[nr++]))
			return false;
	}
	*ret_nr = nr;
	return true;
}
