/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/expr_eval.h"

#include <errno.h>

#include "base/leb128.h"
#include "unwind/expr_ops.h"

/* The first error is kept; later operations have no effect. */
struct machine {
	struct cursor c;
	const uint8_t *start;
	const struct expr_frame *frame;
	int error;
	unsigned int nr;
	uint64_t stack[EXPR_MAX_STACK];
};

static void fail_expr(struct machine *m, int error)
{
	if (!m->error)
		m->error = error;
}

static void push_value(struct machine *m, uint64_t v)
{
	if (m->nr == EXPR_MAX_STACK)
		fail_expr(m, -EBADMSG);
	else
		m->stack[m->nr++] = v;
}

static uint64_t pop(struct machine *m)
{
	if (m->nr)
		return m->stack[--m->nr];
	fail_expr(m, -EBADMSG);
	return 0;
}

/* The i-th from the top, which is 0. */
static void pick_value(struct machine *m, unsigned int i)
{
	if (i < m->nr)
		push_value(m, m->stack[m->nr - 1 - i]);
	else
		fail_expr(m, -EBADMSG);
}

static void push_reg(struct machine *m, uint64_t reg)
{
	uint64_t off = (uint64_t)cursor_sleb128(&m->c);

	if (reg >= CFI_MAX_REGS || !(m->frame->regs->known >> reg & 1))
		fail_expr(m, -ENODATA);
	else
		push_value(m, m->frame->regs->v[reg] + off);
}

static void deref_top(struct machine *m, size_t size)
{
	uint64_t addr = pop(m), v = 0;

	if (size == 0 || size > sizeof(v))
		fail_expr(m, -EBADMSG);
	if (m->error)
		return;
	if (m->frame->read(m->frame->ctx, addr, &v, size) < 0)
		fail_expr(m, -EFAULT);
	push_value(m, v);
}

/* Jumps anywhere within the expression, or to its end. */
static void jump_by_operand(struct machine *m, bool is_taken)
{
	int64_t by = (int16_t)cursor_u16(&m->c);
	int64_t at = m->c.at - m->start;

	if (!is_taken || m->error)
		return;
	if (at + by < 0 || at + by > m->c.end - m->start)
		fail_expr(m, -EBADMSG);
	else
		m->c.at = m->start + at + by;
}

static bool run_const(struct machine *m, uint8_t op)
{
	struct cursor *c = &m->c;

	switch (op) {
	case OP_CONST1U:
		push_value(m, cursor_u8(c));
		return true;
	case OP_CONST1S:
		push_value(m, (uint64_t)(int8_t)cursor_u8(c));
		return true;
	case OP_CONST2U:
		push_value(m, cursor_u16(c));
		return true;
	case OP_CONST2S:
		push_value(m, (uint64_t)(int16_t)cursor_u16(c));
		return true;
	case OP_CONST4U:
		push_value(m, cursor_u32(c));
		return true;
	case OP_CONST4S:
		push_value(m, (uint64_t)(int64_t)cursor_s32(c));
		return true;
	case OP_CONST8U:
	case OP_CONST8S:
		push_value(m, cursor_u64(c));
		return true;
	case OP_CONSTU:
		push_value(m, cursor_uleb128(c));
		return true;
	case OP_CONSTS:
		push_value(m, (uint64_t)cursor_sleb128(c));
		return true;
	default:
		return false;
	}
}

static uint64_t shift_right_signed(uint64_t a, uint64_t b)
{
	return (uint64_t)((int64_t)a >> (b < 64 ? b : 63));
}

/* Signed division, without the two cases that are undefined in C. */
static uint64_t divide(struct machine *m, uint64_t a, uint64_t b)
{
	if (b == 0)
		fail_expr(m, -EBADMSG);
	if (b == 0 || b == UINT64_MAX)
		return -a;
	return (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t modulo(struct machine *m, uint64_t a, uint64_t b)
{
	if (b == 0)
		fail_expr(m, -EBADMSG);
	return b ? a % b : 0;
}

static bool is_arithmetic(uint8_t op)
{
	return (op >= OP_AND && op <= OP_MUL) || op == OP_OR || op == OP_PLUS ||
	       (op >= OP_SHL && op <= OP_XOR);
}

static uint64_t arithmetic(struct machine *m, uint8_t op, uint64_t a, uint64_t b)
{
	switch (op) {
	case OP_AND:
		return a & b;
	case OP_DIV:
		return divide(m, a, b);
	case OP_MINUS:
		return a - b;
	case OP_MOD:
		return modulo(m, a, b);
	case OP_MUL:
		return a * b;
	case OP_OR:
		return a | b;
	case OP_PLUS:
		return a + b;
	case OP_SHL:
		return b < 64 ? a << b : 0;
	case OP_SHR:
		return b < 64 ? a >> b : 0;
	case OP_SHRA:
		return shift_right_signed(a, b);
	default:
		return a ^ b;
	}
}

static bool is_comparison(uint8_t op)
{
	return op >= OP_EQ && op <= OP_NE;
}

static uint64_t compare(uint8_t op, int64_t a, int64_t b)
{
	switch (op) {
	case OP_EQ:
		return a == b;
	case OP_GE:
		return a >= b;
	case OP_GT:
		return a > b;
	case OP_LE:
		return a <= b;
	case OP_LT:
		return a < b;
	default:
		return a != b;
	}
}

static bool run_binary(struct machine *m, uint8_t op)
{
	uint64_t a, b;

	if (!is_arithmetic(op) && !is_comparison(op))
		return false;
	b = pop(m);
	a = pop(m);
	push_value(m, is_arithmetic(op) ? arithmetic(m, op, a, b)
					: compare(op, (int64_t)a, (int64_t)b));
	return true;
}

static bool run_unary(struct machine *m, uint8_t op)
{
	uint64_t v;

	switch (op) {
	case OP_ABS:
		v = pop(m);
		push_value(m, v >> 63 ? -v : v);
		return true;
	case OP_NEG:
		push_value(m, -pop(m));
		return true;
	case OP_NOT:
		push_value(m, ~pop(m));
		return true;
	case OP_PLUS_UCONST:
		v = pop(m);
		push_value(m, v + cursor_uleb128(&m->c));
		return true;
	case OP_DEREF:
		deref_top(m, sizeof(v));
		return true;
	case OP_DEREF_SIZE:
		deref_top(m, cursor_u8(&m->c));
		return true;
	default:
		return false;
	}
}

/* Moves the top below the next `depth` values. */
static void sink_top(struct machine *m, unsigned int depth)
{
	uint64_t top;

	if (m->nr <= depth)
		return fail_expr(m, -EBADMSG);
	top = m->stack[m->nr - 1];
	for (unsigned int i = 1; i <= depth; i++)
		m->stack[m->nr - i] = m->stack[m->nr - i - 1];
	m->stack[m->nr - 1 - depth] = top;
}

static bool run_stack(struct machine *m, uint8_t op)
{
	switch (op) {
	case OP_DUP:
		pick_value(m, 0);
		return true;
	case OP_OVER:
		pick_value(m, 1);
		return true;
	case OP_PICK:
		pick_value(m, cursor_u8(&m->c));
		return true;
	case OP_DROP:
		(void)pop(m);
		return true;
	case OP_SWAP:
		sink_top(m, 1);
		return true;
	case OP_ROT:
		sink_top(m, 2);
		return true;
	default:
		return false;
	}
}

static bool run_flow(struct machine *m, uint8_t op)
{
	switch (op) {
	case OP_SKIP:
		jump_by_operand(m, true);
		return true;
	case OP_BRA:
		jump_by_operand(m, pop(m) != 0);
		return true;
	case OP_NOP:
		return true;
	default:
		return false;
	}
}

static void run_op(struct machine *m, uint8_t op)
{
	if (op >= OP_LIT0 && op <= OP_LIT31)
		push_value(m, op - OP_LIT0);
	else if (op >= OP_BREG0 && op <= OP_BREG31)
		push_reg(m, op - OP_BREG0);
	else if (op == OP_BREGX)
		push_reg(m, cursor_uleb128(&m->c));
	else if (!run_const(m, op) && !run_binary(m, op) && !run_unary(m, op) &&
		 !run_stack(m, op) && !run_flow(m, op))
		fail_expr(m, -EBADMSG);
	if (m->c.bad)
		fail_expr(m, -EBADMSG);
}

int expr_eval(const uint8_t *expr, size_t len, const struct expr_frame *frame, const uint64_t *cfa,
	      uint64_t *ret_value)
{
	struct machine m = { .c = cursor_of(expr, len), .start = expr, .frame = frame };
	uint64_t v;

	if (cfa)
		push_value(&m, *cfa);
	for (unsigned int i = 0; m.c.at < m.c.end && !m.error; i++) {
		if (i == EXPR_MAX_STEPS)
			return -E2BIG;
		run_op(&m, *m.c.at++);
	}
	v = pop(&m);
	if (m.error)
		return m.error;
	*ret_value = v;
	return 0;
}
