/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/unwind_tool/world.h"

#include <elf.h>
#include <errno.h>

#include "base/hash.h"
#include "unwind/full_eval.h"

#define STACK_MAX 32

void world_init(struct world *w, const struct unwind_arch *arch, uint64_t seed, uint64_t pc)
{
	*w = (struct world){ .seed = seed, .pc = pc };
	for (unsigned int i = 0; i < CFI_MAX_REGS; i++)
		w->regs[i] = hash_mix(hash_mix(seed, i + 1), 0x7265670aull) & 0x7ffffffffff8ull;
	/* The column of x86-64 that is not a register. */
	if (arch->machine == EM_X86_64)
		w->regs[16] = pc;
}

uint64_t world_read(const struct world *w, uint64_t addr)
{
	return hash_mix(hash_mix(w->seed, addr), 0x6d656d0aull);
}

struct stack {
	const struct world *w;
	uint64_t cfa;
	uint64_t v[STACK_MAX];
	unsigned int nr;
	bool is_value; /* DW_OP_stack_value: the top is the value, not where it is */
	bool is_beyond;
};

static void push(struct stack *s, uint64_t v)
{
	if (s->nr < STACK_MAX)
		s->v[s->nr++] = v;
	else
		s->is_beyond = true;
}

static uint64_t pop(struct stack *s)
{
	if (s->nr > 0)
		return s->v[--s->nr];
	s->is_beyond = true;
	return 0;
}

static uint64_t reg(struct stack *s, uint64_t nr)
{
	if (nr < CFI_MAX_REGS)
		return s->w->regs[nr];
	s->is_beyond = true;
	return 0;
}

static void run_binary(struct stack *s, uint8_t atom)
{
	uint64_t b = pop(s), a = pop(s);

	switch (atom) {
	case DW_OP_plus:
		return push(s, a + b);
	case DW_OP_minus:
		return push(s, a - b);
	case DW_OP_mul:
		return push(s, a * b);
	case DW_OP_and:
		return push(s, a & b);
	case DW_OP_or:
		return push(s, a | b);
	case DW_OP_shl:
		return push(s, b < 64 ? a << b : 0);
	case DW_OP_shr:
		return push(s, b < 64 ? a >> b : 0);
	case DW_OP_ge:
		return push(s, (int64_t)a >= (int64_t)b);
	case DW_OP_eq:
		return push(s, a == b);
	default:
		s->is_beyond = true;
	}
}

static void run_op(struct stack *s, const Dwarf_Op *op)
{
	uint8_t atom = op->atom;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		return push(s, atom - DW_OP_lit0);
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		return push(s, reg(s, atom - DW_OP_breg0) + op->number);
	if (atom >= DW_OP_const1u && atom <= DW_OP_consts)
		return push(s, op->number);
	if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31) {
		s->is_value = true;
		return push(s, reg(s, atom - DW_OP_reg0));
	}
	switch (atom) {
	case DW_OP_bregx:
		return push(s, reg(s, op->number) + op->number2);
	case DW_OP_regx:
		s->is_value = true;
		return push(s, reg(s, op->number));
	case DW_OP_call_frame_cfa:
		return push(s, s->cfa);
	case DW_OP_plus_uconst:
		return push(s, pop(s) + op->number);
	case DW_OP_deref:
		return push(s, world_read(s->w, pop(s)));
	case DW_OP_stack_value:
		s->is_value = true;
		return;
	case DW_OP_nop:
		return;
	default:
		run_binary(s, atom);
	}
}

struct value world_ops(const struct world *w, const Dwarf_Op *ops, size_t nr, uint64_t cfa,
		       bool is_location)
{
	struct stack s = { .w = w, .cfa = cfa, .is_value = !is_location };
	uint64_t top;

	for (size_t i = 0; i < nr && !s.is_beyond; i++)
		run_op(&s, &ops[i]);
	top = pop(&s);
	if (s.is_beyond)
		return (struct value){ VALUE_BEYOND, 0 };
	return (struct value){ VALUE_KNOWN, s.is_value ? top : world_read(w, top) };
}

static int read_world(void *ctx, uint64_t addr, void *to, size_t size)
{
	uint64_t v = world_read(ctx, addr);

	memcpy(to, &v, size < sizeof(v) ? size : sizeof(v));
	return 0;
}

/* As a frame for the evaluator, which may read but not change it. */
struct world_frame {
	struct frame_regs regs;
	struct world world;
	struct expr_frame frame;
};

static void frame_of(const struct world *w, struct world_frame *ret)
{
	memcpy(ret->regs.v, w->regs, sizeof(ret->regs.v));
	ret->regs.known = UINT64_MAX;
	ret->world = *w;
	ret->frame = (struct expr_frame){ &ret->regs, read_world, &ret->world };
}

struct value world_full_cfa(const struct world *w, const struct cfi_full_row *row)
{
	struct world_frame f;
	uint64_t v;

	frame_of(w, &f);
	if (cfi_eval_cfa(row, &f.frame, &v) < 0)
		return (struct value){ VALUE_BEYOND, 0 };
	return (struct value){ VALUE_KNOWN, v };
}

struct value world_full_reg(const struct world *w, const struct cfi_full_row *row, unsigned int nr,
			    uint64_t cfa)
{
	struct world_frame f;
	uint64_t v;
	int r;

	if (row->regs[nr].kind == CFI_UNSET)
		return (struct value){ VALUE_NOT_SAID, w->regs[nr] };
	frame_of(w, &f);
	r = cfi_eval_reg(row, &f.frame, nr, cfa, &v);
	if (r == -ENODATA)
		return (struct value){ VALUE_UNDEFINED, 0 };
	if (r < 0)
		return (struct value){ VALUE_BEYOND, 0 };
	return (struct value){ VALUE_KNOWN, v };
}

static uint64_t rule_cfa(const struct world *w, const struct unwind_arch *arch, pa_rule rule)
{
	uint64_t base = w->regs[PA_RULE_CFA_REG(rule)];

	switch (PA_RULE_CFA_KIND(rule)) {
	case PA_CFA_REG:
		return base + (uint64_t)PA_RULE_CFA_OFF(rule);
	case PA_CFA_DEREF:
		return world_read(w, base + (uint64_t)PA_RULE_DEREF_OFF(rule)) +
		       (uint64_t)PA_RULE_DEREF_ADD(rule);
	default: /* PLT */
		return w->regs[arch->sp] + 8 +
		       ((w->pc & 15) >= (uint64_t)PA_RULE_CFA_OFF(rule) ? 8 : 0);
	}
}

static struct value rule_fp(const struct world *w, const struct unwind_arch *arch, pa_rule rule,
			    uint64_t cfa)
{
	int64_t slot = PA_RULE_RA_KIND(rule) == PA_RA_BOTH ? PA_RULE_BOTH_FP(rule)
							   : PA_RULE_SLOT(rule);

	switch (PA_RULE_FP_KIND(rule)) {
	case PA_FP_AT_CFA:
		return (struct value){ VALUE_KNOWN, world_read(w, cfa + (uint64_t)slot) };
	case PA_FP_AT_FP:
		return (struct value){ VALUE_KNOWN,
				       world_read(w, w->regs[arch->fp] + (uint64_t)slot) };
	case PA_FP_LOST:
		return (struct value){ VALUE_UNDEFINED, 0 };
	default:
		return (struct value){ VALUE_KNOWN, w->regs[arch->fp] };
	}
}

static uint64_t rule_ra(const struct world *w, const struct unwind_arch *arch, pa_rule rule,
			uint64_t cfa)
{
	switch (PA_RULE_RA_KIND(rule)) {
	case PA_RA_AFTER_FP:
		return world_read(w, cfa + (uint64_t)PA_RULE_SLOT(rule) + 8);
	case PA_RA_AT_CFA:
		return world_read(w, cfa + (uint64_t)PA_RULE_SLOT(rule));
	case PA_RA_BOTH:
		return world_read(w, cfa + (uint64_t)PA_RULE_BOTH_RA(rule));
	case PA_RA_LR:
		return w->regs[arch->lr];
	case PA_RA_REG:
		return w->regs[PA_RULE_RA_REG(rule)];
	default:
		return world_read(w, cfa - 8);
	}
}

static struct outcome signal_frame(const struct world *w, const struct unwind_arch *arch)
{
	bool is_x86 = arch->machine == EM_X86_64;
	uint64_t sp = w->regs[arch->sp];

	return (struct outcome){
		.cfa = { VALUE_KNOWN,
			 world_read(w, sp + (is_x86 ? PA_SIGNAL_X86_SP : PA_SIGNAL_ARM64_SP)) },
		.fp = { VALUE_KNOWN,
			world_read(w, sp + (is_x86 ? PA_SIGNAL_X86_FP : PA_SIGNAL_ARM64_FP)) },
		.ra = { VALUE_KNOWN,
			world_read(w, sp + (is_x86 ? PA_SIGNAL_X86_PC : PA_SIGNAL_ARM64_PC)) },
	};
}

struct outcome world_rule(const struct world *w, const struct unwind_arch *arch, pa_rule rule)
{
	struct outcome o;

	if (PA_RULE_CFA_KIND(rule) == PA_CFA_SIGNAL)
		return signal_frame(w, arch);
	o.cfa = (struct value){ VALUE_KNOWN, rule_cfa(w, arch, rule) };
	o.fp = rule_fp(w, arch, rule, o.cfa.v);
	o.ra = (struct value){ VALUE_KNOWN, rule_ra(w, arch, rule, o.cfa.v) };
	return o;
}
