/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/cfi_expr.h"

#include "base/leb128.h"
#include "unwind/expr_ops.h"

#define STACK_MAX 8     /* the known forms need four */
#define EXPR_MAX_OPS 64 /* the known forms have ten */

struct machine {
	struct cursor c;
	uint8_t pc_reg;
	unsigned int nr;
	struct cfi_sym stack[STACK_MAX];
};

static int64_t wrapping_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static bool push_sym(struct machine *m, struct cfi_sym sym)
{
	if (m->nr == STACK_MAX)
		return false;
	m->stack[m->nr++] = sym;
	return true;
}

static bool push_const(struct machine *m, int64_t value)
{
	return push_sym(m, (struct cfi_sym){ .kind = CFI_SYM_CONST, .off = value });
}

static bool push_reg(struct machine *m, uint64_t reg)
{
	struct cfi_sym sym = { .kind = CFI_SYM_REG, .reg = (uint16_t)reg };

	sym.off = cursor_sleb128(&m->c);
	return reg <= UINT16_MAX && push_sym(m, sym);
}

/* Adds a constant to the symbolic value on top of the stack. */
static bool add_const(struct cfi_sym *sym, int64_t value)
{
	switch (sym->kind) {
	case CFI_SYM_CONST:
	case CFI_SYM_REG:
	case CFI_SYM_CFA:
	case CFI_SYM_PLT:
		sym->off = wrapping_add(sym->off, value);
		return true;
	case CFI_SYM_DEREF:
		sym->add = wrapping_add(sym->add, value);
		return true;
	default:
		return false;
	}
}

static bool add_syms(struct cfi_sym *a, const struct cfi_sym *b)
{
	struct cfi_sym other = *b;

	if (b->kind == CFI_SYM_CONST)
		return add_const(a, b->off);
	if (a->kind == CFI_SYM_CONST) {
		int64_t value = a->off;

		*a = other;
		return add_const(a, value);
	}
	if (a->kind == CFI_SYM_REG && b->kind == CFI_SYM_PC_LOW_GE_8) {
		a->kind = CFI_SYM_PLT;
		a->add = b->off;
		return true;
	}
	return false;
}

static bool is_const(const struct cfi_sym *sym, int64_t value)
{
	return sym->kind == CFI_SYM_CONST && sym->off == value;
}

/* The steps of the PLT form: pc & 15, >= constant, << 3. */
static bool plt_step(struct machine *m, uint8_t op, struct cfi_sym *a, const struct cfi_sym *b)
{
	if (op == OP_AND && a->kind == CFI_SYM_REG && a->reg == m->pc_reg && a->off == 0 &&
	    is_const(b, 15)) {
		a->kind = CFI_SYM_PC_LOW;
		return true;
	}
	if (op == OP_GE && a->kind == CFI_SYM_PC_LOW && b->kind == CFI_SYM_CONST) {
		a->kind = CFI_SYM_PC_LOW_GE;
		a->off = b->off;
		return true;
	}
	if (op == OP_SHL && a->kind == CFI_SYM_PC_LOW_GE && is_const(b, 3)) {
		a->kind = CFI_SYM_PC_LOW_GE_8;
		return true;
	}
	return false;
}

/* Two operands, one result. */
static bool run_binary(struct machine *m, uint8_t op)
{
	struct cfi_sym *a, *b;

	if (m->nr < 2)
		return false;
	b = &m->stack[--m->nr];
	a = &m->stack[m->nr - 1];
	if (op == OP_PLUS)
		return add_syms(a, b);
	if (op == OP_MINUS)
		return b->kind == CFI_SYM_CONST && add_const(a, (int64_t) - (uint64_t)b->off);
	return plt_step(m, op, a, b);
}

static bool run_deref(struct machine *m)
{
	struct cfi_sym *top = &m->stack[m->nr - 1];

	if (m->nr == 0 || top->kind != CFI_SYM_REG)
		return false;
	top->kind = CFI_SYM_DEREF;
	top->add = 0;
	return true;
}

static bool run_const(struct machine *m, uint8_t op)
{
	struct cursor *c = &m->c;

	switch (op) {
	case OP_CONST1U:
		return push_const(m, cursor_u8(c));
	case OP_CONST1S:
		return push_const(m, (int8_t)cursor_u8(c));
	case OP_CONST2U:
		return push_const(m, cursor_u16(c));
	case OP_CONST2S:
		return push_const(m, (int16_t)cursor_u16(c));
	case OP_CONST4U:
		return push_const(m, cursor_u32(c));
	case OP_CONST4S:
		return push_const(m, cursor_s32(c));
	case OP_CONST8U:
	case OP_CONST8S:
		return push_const(m, (int64_t)cursor_u64(c));
	case OP_CONSTU:
		return push_const(m, (int64_t)cursor_uleb128(c));
	case OP_CONSTS:
		return push_const(m, cursor_sleb128(c));
	default:
		return false;
	}
}

static bool run_op(struct machine *m, uint8_t op)
{
	if (op >= OP_LIT0 && op <= OP_LIT31)
		return push_const(m, op - OP_LIT0);
	if (op >= OP_BREG0 && op <= OP_BREG31)
		return push_reg(m, op - OP_BREG0);
	switch (op) {
	case OP_BREGX:
		return push_reg(m, cursor_uleb128(&m->c));
	case OP_PLUS_UCONST:
		return push_const(m, (int64_t)cursor_uleb128(&m->c)) && run_binary(m, OP_PLUS);
	case OP_PLUS:
	case OP_MINUS:
	case OP_AND:
	case OP_GE:
	case OP_SHL:
		return run_binary(m, op);
	case OP_DEREF:
		return run_deref(m);
	case OP_NOP:
		return true;
	default:
		return run_const(m, op);
	}
}

bool cfi_expr_reduce(const uint8_t *expr, size_t len, uint8_t pc_reg, bool has_cfa,
		     struct cfi_sym *ret_sym)
{
	struct machine m = { .c = cursor_of(expr, len), .pc_reg = pc_reg };

	if (has_cfa)
		(void)push_sym(&m, (struct cfi_sym){ .kind = CFI_SYM_CFA }); /* always fits */
	for (unsigned int i = 0; m.c.at < m.c.end; i++)
		if (i == EXPR_MAX_OPS || !run_op(&m, *m.c.at++) || m.c.bad)
			return false;
	if (m.nr == 0)
		return false;
	*ret_sym = m.stack[m.nr - 1];
	return true;
}
