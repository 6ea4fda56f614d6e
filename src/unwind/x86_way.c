/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/x86_way.h"

#include <errno.h>

#include "unwind/rule.h"

bool x86_place_is_same(struct x86_place a, struct x86_place b)
{
	return a.base != X86_LOST && a.base == b.base && a.off == b.off;
}

static struct x86_place moved(struct x86_place p, int64_t by)
{
	p.off += by;
	return p;
}

/* The place that an offset from fp refers to: fp has its own value, or an address that it was set
 * to. */
static bool fp_place(const struct x86_way *w, int64_t off, struct x86_place *ret_place)
{
	if (w->fp.state == X86_FP_LOADED)
		return false;
	*ret_place = w->fp.state == X86_FP_OWN ? (struct x86_place){ X86_OF_FP, off }
					       : moved(w->fp.at, off);
	return true;
}

static void load_fp(struct x86_way *w, struct x86_place at)
{
	w->top = X86_TOP_OTHER;
	if (w->has_saved && x86_place_is_same(at, w->saved_at))
		w->fp = w->saved;
	else
		w->fp = (struct x86_fp){ X86_FP_LOADED, at };
}

static void save_fp(struct x86_way *w, struct x86_place at)
{
	w->has_saved = true;
	w->saved_at = at;
	w->saved = w->fp;
}

static void push_reg(struct x86_way *w, uint8_t reg)
{
	bool is_moved = w->has_popped && reg == w->popped && !(w->written >> reg & 1);

	w->sp.off -= X86_WORD;
	if (reg == X86_REG_FP) {
		save_fp(w, w->sp);
		w->top = w->top == X86_TOP_MOVED ? X86_TOP_FP_MOVED : X86_TOP_OTHER;
		return;
	}
	w->top = is_moved ? X86_TOP_MOVED : X86_TOP_OTHER;
}

/* A register is written by a pop into it, and not yet by others. */
static void take_popped(struct x86_way *w, uint8_t reg, struct x86_place at)
{
	if (w->has_popped || reg == X86_REG_NONE)
		return;
	w->has_popped = true;
	w->popped = reg;
	w->popped_at = at;
	w->written &= (uint16_t) ~(1u << reg);
}

static void pop_reg(struct x86_way *w, uint8_t reg)
{
	take_popped(w, reg, w->sp);
	if (reg == X86_REG_FP)
		load_fp(w, w->sp);
	w->sp.off += X86_WORD;
	w->top = X86_TOP_OTHER;
}

static bool leave_frame(struct x86_way *w)
{
	if (!fp_place(w, 0, &w->sp))
		return false;
	pop_reg(w, X86_REG_FP);
	return true;
}

static bool apply_insn(struct x86_way *w, const struct x86_insn *i)
{
	struct x86_place p;

	switch (i->op) {
	case X86_PUSH:
		push_reg(w, i->reg);
		return true;
	case X86_POP:
		pop_reg(w, i->reg);
		return true;
	case X86_ADD_SP:
		w->sp.off += i->value;
		return true;
	case X86_FP_FROM_SP:
		w->fp = (struct x86_fp){ X86_FP_PLACE, moved(w->sp, i->value) };
		return true;
	case X86_FP_AT_SP:
		load_fp(w, moved(w->sp, i->value));
		return true;
	case X86_FP_AT_FP:
		if (!fp_place(w, i->value, &p))
			return false;
		load_fp(w, p);
		return true;
	case X86_STORE_FP: /* other stores are for a callee that keeps its record there */
		if (w->fp.state == X86_FP_OWN)
			save_fp(w, moved(w->sp, i->value));
		return true;
	case X86_LOAD:
		take_popped(w, i->reg, moved(w->sp, i->value));
		return true;
	case X86_SP_FROM_FP:
		return fp_place(w, i->value, &w->sp);
	case X86_SP_LOST:
		w->sp = (struct x86_place){ X86_LOST, 0 };
		return true;
	case X86_LEAVE:
		return leave_frame(w);
	default:
		return i->op == X86_OTHER || i->op == X86_CALL || i->op == X86_CALL_INDIRECT;
	}
}

static bool keeps_top(enum x86_op op)
{
	return op == X86_PUSH || op == X86_OTHER || op == X86_STORE_FP || op == X86_LOAD ||
	       op == X86_FP_FROM_SP;
}

bool x86_way_apply(struct x86_way *w, const struct x86_insn *i)
{
	bool had_popped = w->has_popped;

	w->has_called |= i->op == X86_CALL || i->op == X86_CALL_INDIRECT;
	if (!keeps_top(i->op))
		w->top = X86_TOP_OTHER;
	if (!apply_insn(w, i))
		return false;
	w->written |= had_popped == w->has_popped ? i->written : 0;
	return true;
}

static pa_rule pack_slots(int64_t fp, int64_t ra)
{
	pa_rule kind = fp ? (pa_rule)PA_FP_AT_CFA << PA_RULE_FP_SHIFT : 0;

	if (ra == -1)
		return kind | rule_field(fp, PA_RULE_SLOT_SHIFT, PA_RULE_SLOT_BITS);
	if (!fp)
		return (pa_rule)PA_RA_AT_CFA << PA_RULE_RA_SHIFT |
		       rule_field(ra, PA_RULE_SLOT_SHIFT, PA_RULE_SLOT_BITS);
	return kind | (pa_rule)PA_RA_BOTH << PA_RULE_RA_SHIFT |
	       rule_field(fp, PA_RULE_SLOT_SHIFT, PA_RULE_HALF_BITS) |
	       rule_field(ra, PA_RULE_HALF_SHIFT, PA_RULE_HALF_BITS);
}

int x86_make_rule(unsigned int reg, int64_t cfa, int64_t fp, int64_t ra, pa_rule *ret_rule)
{
	if (!rule_fits(cfa, PA_RULE_CFA_BITS) || !rule_fits(ra, PA_RULE_HALF_BITS) ||
	    !rule_fits(fp, PA_RULE_HALF_BITS))
		return -ENOENT;
	*ret_rule = PA_CFA_REG | (pa_rule)reg << PA_RULE_REG_SHIFT |
		    rule_field(cfa, PA_RULE_CFA_SHIFT, PA_RULE_CFA_BITS) | pack_slots(fp, ra);
	return 0;
}

/* True if the caller's frame pointer is saved where a word can express it. */
static bool is_kept_near(const struct x86_way *w, int64_t cfa)
{
	return w->fp.at.base == w->sp.base && w->fp.at.off != cfa &&
	       (w->fp.at.off - cfa) % X86_WORD == 0 &&
	       (w->fp.at.base == X86_OF_FP || w->fp.at.off >= 0);
}

/* The CFA is the value of sp after the return, with the arguments removed. */
int x86_way_rule(const struct x86_way *w, int64_t arguments, pa_rule *ret_rule)
{
	int64_t cfa = w->sp.off + X86_WORD + arguments, fp = 0;
	unsigned int reg = w->sp.base == X86_OF_FP ? PA_REG_X86_FP : PA_REG_X86_SP;

	if (w->sp.base == X86_LOST || w->sp.off % X86_WORD || arguments % X86_WORD ||
	    (w->sp.base == X86_OF_SP && w->sp.off < 0))
		return -ENOENT;
	if (w->fp.state == X86_FP_PLACE || (w->fp.state == X86_FP_LOADED && !is_kept_near(w, cfa)))
		return -ENOENT;
	if (w->fp.state == X86_FP_LOADED)
		fp = (w->fp.at.off - cfa) / X86_WORD;
	return x86_make_rule(reg, cfa, fp, -(X86_WORD + arguments) / X86_WORD, ret_rule);
}
