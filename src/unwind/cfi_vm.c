/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/cfi_vm.h"

#include <errno.h>

#include "base/leb128.h"

/* DWARF 5, 7.24; the last four are extensions of GNU and Arm. */
enum {
	OP_ADVANCE_LOC = 0x40, /* operand in the low six bits, as in the next two */
	OP_OFFSET = 0x80,
	OP_RESTORE = 0xc0,
	OP_OPERAND_MASK = 0x3f,

	OP_NOP = 0x00,
	OP_SET_LOC = 0x01,
	OP_ADVANCE_LOC1 = 0x02,
	OP_ADVANCE_LOC2 = 0x03,
	OP_ADVANCE_LOC4 = 0x04,
	OP_OFFSET_EXTENDED = 0x05,
	OP_RESTORE_EXTENDED = 0x06,
	OP_UNDEFINED = 0x07,
	OP_SAME_VALUE = 0x08,
	OP_REGISTER = 0x09,
	OP_REMEMBER_STATE = 0x0a,
	OP_RESTORE_STATE = 0x0b,
	OP_DEF_CFA = 0x0c,
	OP_DEF_CFA_REGISTER = 0x0d,
	OP_DEF_CFA_OFFSET = 0x0e,
	OP_DEF_CFA_EXPRESSION = 0x0f,
	OP_EXPRESSION = 0x10,
	OP_OFFSET_EXTENDED_SF = 0x11,
	OP_DEF_CFA_SF = 0x12,
	OP_DEF_CFA_OFFSET_SF = 0x13,
	OP_VAL_OFFSET = 0x14,
	OP_VAL_OFFSET_SF = 0x15,
	OP_VAL_EXPRESSION = 0x16,
	OP_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	OP_AARCH64_NEGATE_RA_STATE = 0x2d,
	OP_GNU_ARGS_SIZE = 0x2e,
	OP_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* Products of hostile numbers wrap around; signed overflow would be undefined. */
static int64_t scaled(const struct cfi_vm *vm, uint64_t factored)
{
	return (int64_t)(factored * (uint64_t)vm->scale->data);
}

static void note_rest(struct cfi_vm *vm)
{
	vm->changed |= CFI_CHANGED_REST;
	vm->nr_rest++;
}

/* NULL if the register is not tracked. */
static struct cfi_rule *slot_of(struct cfi_vm *vm, uint64_t reg)
{
	uint8_t slot = reg < CFI_MAX_REGS ? vm->slots->of[reg] : CFI_NO_SLOT;

	if (slot == CFI_NO_SLOT)
		return NULL;
	note_rest(vm);
	return &vm->state.slots[slot];
}

static void set_rule(struct cfi_vm *vm, uint64_t reg, enum cfi_kind kind, uint64_t factored)
{
	struct cfi_rule *rule = slot_of(vm, reg);

	if (rule)
		*rule = (struct cfi_rule){ .kind = (uint8_t)kind, .off = scaled(vm, factored) };
}

static void set_register(struct cfi_vm *vm, uint64_t reg, uint64_t other)
{
	struct cfi_rule *rule = slot_of(vm, reg);

	if (rule)
		*rule = (struct cfi_rule){ .kind = CFI_REGISTER,
					   .reg = other > UINT16_MAX ? UINT16_MAX
								     : (uint16_t)other };
}

/* Restores the rule that the CIE defines. */
static void restore_reg(struct cfi_vm *vm, uint64_t reg)
{
	struct cfi_rule *rule = slot_of(vm, reg);

	if (!rule)
		return;
	if (vm->initial)
		*rule = vm->initial->slots[rule - vm->state.slots];
	else
		*rule = (struct cfi_rule){ .kind = CFI_UNSET };
}

static struct cfi_rule take_expr(struct cfi_vm *vm, enum cfi_kind kind)
{
	uint64_t len = cursor_uleb128(&vm->c);
	const uint8_t *expr = cursor_take(&vm->c, len <= UINT32_MAX ? len : SIZE_MAX);

	return (struct cfi_rule){ .kind = (uint8_t)kind, .expr_len = (uint32_t)len, .expr = expr };
}

static void set_expr(struct cfi_vm *vm, uint64_t reg, enum cfi_kind kind)
{
	struct cfi_rule expr = take_expr(vm, kind);
	struct cfi_rule *rule = slot_of(vm, reg);

	if (rule)
		*rule = expr;
}

static int set_cfa(struct cfi_vm *vm, uint64_t reg, int64_t off)
{
	if (reg > UINT16_MAX)
		return -EBADMSG;
	note_rest(vm);
	vm->state.cfa = (struct cfi_rule){ .kind = CFI_CFA, .reg = (uint16_t)reg, .off = off };
	return 0;
}

static int set_cfa_expression(struct cfi_vm *vm)
{
	struct cfi_state *s = &vm->state;
	uint16_t reg = s->cfa.reg;

	if (s->cfa.kind != CFI_VAL_EXPR)
		s->cfa_off = s->cfa.off;
	note_rest(vm);
	s->cfa = take_expr(vm, CFI_VAL_EXPR);
	s->cfa.reg = reg;
	return 0;
}

/* Sets one half of a CFA definition. The other half keeps its last value, even if an expression was
 * in force in between: DWARF forbids that, but hand-written code does it (libgcrypt), and unwinders
 * accept it. */
static int set_cfa_register(struct cfi_vm *vm, uint64_t reg)
{
	const struct cfi_state *s = &vm->state;

	if (s->cfa.kind == CFI_UNSET)
		return -EBADMSG;
	return set_cfa(vm, reg, s->cfa.kind == CFI_CFA ? s->cfa.off : s->cfa_off);
}

static int set_cfa_offset(struct cfi_vm *vm, int64_t off)
{
	if (vm->state.cfa.kind == CFI_UNSET)
		return -EBADMSG;
	note_rest(vm);
	vm->state.cfa.kind = CFI_CFA;
	vm->state.cfa.off = off;
	return 0;
}

/* True if changing to that offset is only CFI_CHANGED_OFFSET. */
static inline bool is_small_offset(const struct cfi_vm *vm, int64_t off)
{
	return vm->state.cfa.kind == CFI_CFA && off >= 0 && off < 0x80;
}

static int remember_state(struct cfi_vm *vm)
{
	struct cfi_memory *memory;

	if (vm->depth == CFI_MAX_REMEMBER)
		return -EBADMSG;
	memory = &vm->remembered[vm->depth++];
	memory->nr_rest = vm->nr_rest;
	cfi_state_copy(&memory->state, &vm->state, vm->slots->nr);
	return 0;
}

/* Between remember_state and restore_state there is mostly an epilogue, in which only the CFA's
 * offset changes. */
static int recall_state(struct cfi_vm *vm)
{
	const struct cfi_memory *memory;

	if (vm->depth == 0)
		return -EBADMSG;
	memory = &vm->remembered[--vm->depth];
	if (memory->nr_rest == vm->nr_rest && is_small_offset(vm, memory->state.cfa.off)) {
		vm->changed |= CFI_CHANGED_OFFSET;
		vm->state.cfa.off = memory->state.cfa.off;
		return 0;
	}
	note_rest(vm);
	cfi_state_copy(&vm->state, &memory->state, vm->slots->nr);
	return 0;
}

static int negate_ra_state(struct cfi_vm *vm)
{
	if (!vm->arch->has_pac)
		return -EBADMSG;
	note_rest(vm);
	vm->state.ra_signed = !vm->state.ra_signed;
	return 0;
}

/* Instructions that set the rule of a register. */
static int run_register_op(struct cfi_vm *vm, uint8_t op)
{
	struct cursor *c = &vm->c;
	uint64_t reg = cursor_uleb128(c);

	switch (op) {
	case OP_OFFSET_EXTENDED:
		set_rule(vm, reg, CFI_OFFSET, cursor_uleb128(c));
		return 0;
	case OP_OFFSET_EXTENDED_SF:
		set_rule(vm, reg, CFI_OFFSET, (uint64_t)cursor_sleb128(c));
		return 0;
	case OP_GNU_NEGATIVE_OFFSET_EXTENDED:
		set_rule(vm, reg, CFI_OFFSET, -cursor_uleb128(c));
		return 0;
	case OP_VAL_OFFSET:
		set_rule(vm, reg, CFI_VAL_OFFSET, cursor_uleb128(c));
		return 0;
	case OP_VAL_OFFSET_SF:
		set_rule(vm, reg, CFI_VAL_OFFSET, (uint64_t)cursor_sleb128(c));
		return 0;
	case OP_RESTORE_EXTENDED:
		restore_reg(vm, reg);
		return 0;
	case OP_UNDEFINED:
		set_rule(vm, reg, CFI_UNDEFINED, 0);
		return 0;
	case OP_SAME_VALUE:
		set_rule(vm, reg, CFI_SAME, 0);
		return 0;
	case OP_REGISTER:
		set_register(vm, reg, cursor_uleb128(c));
		return 0;
	case OP_EXPRESSION:
		set_expr(vm, reg, CFI_EXPR);
		return 0;
	case OP_VAL_EXPRESSION:
		set_expr(vm, reg, CFI_VAL_EXPR);
		return 0;
	default:
		return -EBADMSG;
	}
}

static int advance_by(struct cfi_vm *vm, uint64_t delta)
{
	uint64_t bytes = delta * vm->scale->code; /* 32 bits each */

	if (bytes > UINT64_MAX - vm->next)
		return -EBADMSG;
	vm->next += bytes;
	return bytes != 0;
}

static int advance_to(struct cfi_vm *vm)
{
	uint64_t addr, before = vm->next;

	if (vm->read_address(vm->read_ctx, &vm->c, vm->scale->address_encoding, &addr) < 0 ||
	    addr < before)
		return -EBADMSG;
	vm->next = addr;
	return addr != before;
}

static int run_rare_op(struct cfi_vm *vm, uint8_t op)
{
	struct cursor *c = &vm->c;
	uint64_t reg;

	switch (op) {
	case OP_NOP:
		return 0;
	case OP_ADVANCE_LOC ... OP_ADVANCE_LOC + OP_OPERAND_MASK:
		return advance_by(vm, op & OP_OPERAND_MASK);
	case OP_OFFSET ... OP_OFFSET + OP_OPERAND_MASK:
		set_rule(vm, op & OP_OPERAND_MASK, CFI_OFFSET, cursor_uleb128(c));
		return 0;
	case OP_RESTORE ... OP_RESTORE + OP_OPERAND_MASK:
		restore_reg(vm, op & OP_OPERAND_MASK);
		return 0;
	case OP_ADVANCE_LOC1:
		return advance_by(vm, cursor_u8(c));
	case OP_ADVANCE_LOC2:
		return advance_by(vm, cursor_u16(c));
	case OP_ADVANCE_LOC4:
		return advance_by(vm, cursor_u32(c));
	case OP_SET_LOC:
		return advance_to(vm);
	case OP_REMEMBER_STATE:
		return remember_state(vm);
	case OP_RESTORE_STATE:
		return recall_state(vm);
	case OP_DEF_CFA:
		reg = cursor_uleb128(c);
		return set_cfa(vm, reg, (int64_t)cursor_uleb128(c));
	case OP_DEF_CFA_SF:
		reg = cursor_uleb128(c);
		return set_cfa(vm, reg, scaled(vm, (uint64_t)cursor_sleb128(c)));
	case OP_DEF_CFA_REGISTER:
		return set_cfa_register(vm, cursor_uleb128(c));
	case OP_DEF_CFA_OFFSET:
		return set_cfa_offset(vm, (int64_t)cursor_uleb128(c));
	case OP_DEF_CFA_OFFSET_SF:
		return set_cfa_offset(vm, scaled(vm, (uint64_t)cursor_sleb128(c)));
	case OP_DEF_CFA_EXPRESSION:
		return set_cfa_expression(vm);
	case OP_GNU_ARGS_SIZE: /* for landing pads; the CFA does not depend on it */
		(void)cursor_uleb128(c);
		return 0;
	case OP_AARCH64_NEGATE_RA_STATE:
	case OP_AARCH64_NEGATE_RA_STATE_WITH_PC:
		return negate_ra_state(vm);
	default:
		return run_register_op(vm, op);
	}
}

/* A truncated operand is read as zero and detected here. */
int cfi_vm_run_other(struct cfi_vm *vm)
{
	int r = run_rare_op(vm, *vm->c.at++);

	return vm->c.bad ? -EBADMSG : r;
}

/* Two bytes: the rule of a register that is not tracked. */
static inline bool is_unfollowed(const struct cfi_vm *vm, uint8_t op, uint8_t operand)
{
	return operand < 0x80 && vm->slots->of[op - OP_OFFSET] == CFI_NO_SLOT;
}

/* False if it is not an advance, or goes too far. */
static inline bool advance_common(struct cfi_vm *vm, uint8_t delta)
{
	uint64_t next = vm->next + (uint64_t)delta * vm->scale->code;

	if (next <= vm->next)
		return false;
	vm->next = next;
	return true;
}

/* The hot loop of compiling. The position stays in a register. The last byte is left to the slow
 * path, so that every instruction here is followed by another byte. */
int cfi_vm_run_common(struct cfi_vm *vm)
{
	const uint8_t *at = vm->c.at, *last = vm->c.end - 1;
	int r = CFI_VM_OTHER;

	for (; at < last; at++) {
		uint8_t op = *at;

		switch (op) {
		case OP_ADVANCE_LOC ... OP_ADVANCE_LOC + OP_OPERAND_MASK:
			if (!advance_common(vm, op & OP_OPERAND_MASK))
				goto out;
			vm->c.at = at + 1;
			return 1;
		case OP_ADVANCE_LOC1:
			if (!advance_common(vm, at[1]))
				goto out;
			vm->c.at = at + 2;
			return 1;
		case OP_DEF_CFA_OFFSET:
			if (!is_small_offset(vm, at[1]))
				goto out;
			vm->changed |= CFI_CHANGED_OFFSET;
			vm->state.cfa.off = *++at;
			break;
		case OP_OFFSET ... OP_OFFSET + CFI_MAX_REGS - 1:
			if (!is_unfollowed(vm, op, at[1]))
				goto out;
			at++;
			break;
		case OP_REMEMBER_STATE:
			if (remember_state(vm) < 0)
				goto out;
			break;
		case OP_RESTORE_STATE:
			if (recall_state(vm) < 0)
				goto out;
			break;
		case OP_NOP:
			break;
		default:
			goto out;
		}
	}
	if (at == last && *at == OP_NOP) /* the padding at the end of an FDE */
		at++;
	r = at <= last ? CFI_VM_OTHER : 0;
out:
	vm->c.at = at;
	return r;
}
