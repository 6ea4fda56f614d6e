/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/full_walk.h"

#include <errno.h>

#include "unwind/cfi_expr.h"
#include "unwind/full_eval.h"
#include "unwind/rule.h"

/* A user address that can be code: as in bpf/walk.h. */
#define USER_MIN 4096ull
#define USER_MAX (1ull << 56)
#define FUNCTION_ALIGN 16u

static bool is_user_addr(uint64_t addr)
{
	return addr >= USER_MIN && addr < USER_MAX;
}

static void set_reg(struct frame_regs *regs, unsigned int reg, uint64_t v)
{
	regs->v[reg] = v;
	regs->known |= 1ull << reg;
}

static void lose_reg(struct frame_regs *regs, unsigned int reg)
{
	regs->known &= ~(1ull << reg);
}

static bool is_known(const struct frame_regs *regs, unsigned int reg)
{
	return regs->known >> reg & 1;
}

static bool end(struct full_walk *w, uint32_t stop)
{
	w->stop = stop;
	return false;
}

static uint32_t stop_of(int error)
{
	return error == -EFAULT ? PA_STOP_STACK_FAULT : PA_STOP_HARD_RULE;
}

static bool read_word(const struct full_walk *w, uint64_t addr, uint64_t *ret_value)
{
	return w->source->read(w->ctx, addr, ret_value, sizeof(*ret_value)) >= 0;
}

static bool enter(struct full_walk *w, uint64_t pc, const struct frame_regs *regs, bool is_exact)
{
	if (!is_user_addr(pc))
		return end(w, PA_STOP_FP_END);
	w->pc = pc;
	w->regs = *regs;
	w->is_exact = is_exact;
	w->is_interrupted = false;
	w->is_sp_low = false;
	w->nr++;
	set_reg(&w->regs, w->arch->pc, pc);
	return true;
}

void full_walk_init(struct full_walk *w, const struct unwind_arch *arch, uint64_t pc,
		    const uint64_t *regs, size_t nr)
{
	*w = (struct full_walk){ .arch = arch, .pc = pc, .nr = 1, .is_exact = true };
	for (unsigned int i = 0; i < nr && i < arch->nr_regs; i++)
		set_reg(&w->regs, i, regs[i]);
	set_reg(&w->regs, arch->pc, pc);
}

/* Code without a rule may have left anything in the other registers; a guess has nothing else that
 * speaks for the frame pointer. */
static bool by_fp(struct full_walk *w, uint64_t lowest, bool is_guess)
{
	const struct unwind_arch *arch = w->arch;
	struct frame_regs regs = { 0 };
	uint64_t at = w->regs.v[arch->fp], fp, pc;

	if (!is_known(&w->regs, arch->fp) || at < lowest || (at & 7) || !is_user_addr(at))
		return end(w, PA_STOP_FP_END);
	if (!read_word(w, at, &fp) || !read_word(w, at + 8, &pc))
		return end(w, PA_STOP_STACK_FAULT);
	pc &= arch->code_mask;
	if (is_guess && !w->source->can_return_to(w->ctx, pc))
		return end(w, PA_STOP_FP_END);
	set_reg(&regs, arch->sp, at + 16);
	set_reg(&regs, arch->fp, fp);
	return enter(w, pc, &regs, false);
}

/* Just called, or about to return: the return address is where a call puts it, and all registers are
 * the caller's. */
static bool by_call(struct full_walk *w)
{
	const struct unwind_arch *arch = w->arch;
	struct frame_regs regs = w->regs;
	uint64_t sp = regs.v[arch->sp], pc;

	if (arch->lr != UNWIND_NO_REG) {
		if (!is_known(&regs, arch->lr))
			return end(w, PA_STOP_FP_END);
		pc = regs.v[arch->lr];
		lose_reg(&regs, arch->lr);
	} else {
		if (!read_word(w, sp, &pc))
			return end(w, PA_STOP_STACK_FAULT);
		set_reg(&regs, arch->sp, sp + 8);
	}
	return enter(w, pc & arch->code_mask, &regs, false);
}

/* Just pushed: nothing else has changed since the call. (Where a call leaves the return address in a
 * register, how much was pushed besides is not known.) */
static bool by_pushed(struct full_walk *w)
{
	const struct unwind_arch *arch = w->arch;
	uint64_t sp = w->regs.v[arch->sp], fp;

	if (arch->lr != UNWIND_NO_REG) {
		set_reg(&w->regs, arch->fp, sp);
		return by_fp(w, sp, false);
	}
	if (!read_word(w, sp, &fp))
		return end(w, PA_STOP_STACK_FAULT);
	set_reg(&w->regs, arch->fp, fp);
	set_reg(&w->regs, arch->sp, sp + 8);
	return by_call(w);
}

/* As pa_walk_by_record() of bpf/walk.h. */
static bool by_record(struct full_walk *w, pa_rule word)
{
	uint64_t sp = w->regs.v[w->arch->sp], fp = w->regs.v[w->arch->fp];
	bool is_gap = word == PA_RULE_WORD_GAP;
	bool has_record = word == PA_RULE_WORD_RECORDS && !w->is_exact;

	if (is_gap && !w->is_exact && !w->source->can_return_to(w->ctx, w->pc))
		return end(w, PA_STOP_FP_END);
	if (!has_record && w->source->may_skip && is_known(&w->regs, w->arch->fp) &&
	    w->source->may_skip(w->ctx, sp, fp))
		return end(w, PA_STOP_NO_RECORD);
	if (!by_fp(w, sp, is_gap))
		return false;
	w->is_sp_low = true;
	return true;
}

/* As pa_walk_by_code(). */
static bool by_code(struct full_walk *w, pa_rule word)
{
	enum pa_record_place place = w->source->record_at(w->ctx, w->pc);

	if (place == PA_RECORD_NONE)
		return by_call(w);
	if (place == PA_RECORD_AT_SP)
		return by_pushed(w);
	return by_record(w, word);
}

/* The kernel has put all of them above sp. */
static bool by_signal(struct full_walk *w)
{
	const struct unwind_arch *arch = w->arch;
	uint64_t sp = w->regs.v[arch->sp];
	struct frame_regs regs = { 0 };

	for (unsigned int i = 0; i < arch->nr_regs; i++) {
		uint64_t v;

		if (!read_word(w, sp + arch->signal_offsets[i], &v))
			return end(w, PA_STOP_STACK_FAULT);
		set_reg(&regs, i, v);
	}
	if (!enter(w, regs.v[arch->pc], &regs, true))
		return false;
	w->is_interrupted = true;
	return true;
}

/*
 * Compilers leave a rule in force behind the instruction that restores the register. The slot then
 * lies below sp, where a call has overwritten it (before the first call it is still good); or, where
 * it is relative to a frame pointer that is the caller's again, in another's frame.
 */
static bool is_restored(const struct full_walk *w, const struct cfi_rule *rule, uint64_t at,
			uint64_t cfa)
{
	uint64_t sp = w->regs.v[w->arch->sp];
	struct cfi_sym sym;

	if (rule->kind == CFI_OFFSET)
		return at < sp && !w->is_exact;
	return (at < sp || at >= cfa) &&
	       cfi_expr_reduce(rule->expr, rule->expr_len, w->arch->pc, true, &sym) &&
	       sym.kind == CFI_SYM_REG && sym.reg == w->arch->fp;
}

static uint64_t uncounted_bytes(const struct full_walk *w, const struct cfi_full_row *row)
{
	if (row->is_signal)
		return 0;
	return (uint64_t)cfi_uncounted_bytes(w->arch, &row->cfa, &row->regs[row->ra_reg]);
}

static int caller_reg(const struct full_walk *w, const struct cfi_full_row *row,
		      const struct expr_frame *frame, unsigned int reg, uint64_t cfa,
		      uint64_t *ret_value)
{
	const struct cfi_rule *rule = &row->regs[reg];
	uint64_t at;

	if (reg == w->arch->sp && rule->kind == CFI_UNSET) {
		*ret_value = cfa + uncounted_bytes(w, row);
		return 0;
	}
	if (!row->is_signal && reg != row->ra_reg && cfi_eval_slot(rule, frame, cfa, &at) == 0 &&
	    is_restored(w, rule, at, cfa)) {
		*ret_value = w->regs.v[reg];
		return is_known(&w->regs, reg) ? 0 : -ENODATA;
	}
	return cfi_eval_reg(row, frame, reg, cfa, ret_value);
}

/* Where sp follows from the CFA alone, frames lie one above the other; the first one may have its
 * return address in a register and no memory at all. */
static bool is_above(const struct full_walk *w, const struct cfi_full_row *row, uint64_t next)
{
	uint64_t sp = w->regs.v[w->arch->sp];

	if (row->is_signal || row->regs[w->arch->sp].kind != CFI_UNSET)
		return true;
	return next > sp ||
	       (next == sp && w->arch->lr != UNWIND_NO_REG && (w->is_exact || w->nr == 1));
}

static uint32_t evaluate(const struct full_walk *w, const struct cfi_full_row *row,
			 struct frame_regs *ret_regs, uint64_t *ret_pc)
{
	struct expr_frame frame = { &w->regs, w->source->read, w->ctx };
	struct frame_regs regs = { 0 };
	uint64_t cfa, v;
	int r;

	r = cfi_eval_cfa(row, &frame, &cfa);
	if (r < 0)
		return stop_of(r);
	r = caller_reg(w, row, &frame, row->ra_reg, cfa, ret_pc);
	if (r < 0)
		return stop_of(r);
	r = caller_reg(w, row, &frame, w->arch->sp, cfa, &v);
	if (r < 0)
		return stop_of(r);
	if (!is_above(w, row, v))
		return PA_STOP_BAD_FRAME;
	for (unsigned int i = 0; i < row->nr_regs; i++)
		if (caller_reg(w, row, &frame, i, cfa, &v) == 0)
			set_reg(&regs, i, v);
	*ret_regs = regs;
	return 0;
}

static bool by_row(struct full_walk *w, const struct cfi_full_row *row)
{
	struct frame_regs regs;
	uint32_t stop;
	uint64_t pc;

	if (row->regs[row->ra_reg].kind == CFI_UNDEFINED)
		return end(w, PA_STOP_END);
	/* A column that is no register has to be said where it is. */
	if (row->ra_reg == w->arch->pc && row->regs[row->ra_reg].kind <= CFI_SAME)
		return end(w, PA_STOP_HARD_RULE);
	stop = evaluate(w, row, &regs, &pc);
	if (stop)
		return end(w, stop);
	if (!pc)
		return end(w, PA_STOP_END); /* as in bpf/walk.h: nobody has called */
	if (!row->is_signal)
		lose_reg(&regs, row->ra_reg); /* the call has overwritten it */
	return enter(w, row->ra_signed ? pc & w->arch->code_mask : pc, &regs, row->is_signal);
}

/* What a word says of the return address and of the frame pointer, as rules of a file. */
static bool rules_of_word(const struct unwind_arch *arch, pa_rule word, struct cfi_rule *ra,
			  struct cfi_rule *fp)
{
	uint32_t fp_kind = PA_RULE_FP_KIND(word);
	int64_t slot = PA_RULE_SLOT(word);

	*ra = (struct cfi_rule){ .kind = CFI_OFFSET, .off = -8 };
	*fp = (struct cfi_rule){ .kind = fp_kind == PA_FP_LOST ? CFI_UNDEFINED : CFI_SAME };
	switch (PA_RULE_RA_KIND(word)) {
	case PA_RA_AFTER_FP:
		ra->off = slot + 8;
		break;
	case PA_RA_AT_CFA:
		ra->off = slot;
		break;
	case PA_RA_BOTH:
		ra->off = PA_RULE_BOTH_RA(word);
		slot = PA_RULE_BOTH_FP(word);
		break;
	case PA_RA_LR:
		*ra = (struct cfi_rule){ .kind = CFI_REGISTER, .reg = arch->lr };
		break;
	case PA_RA_CFA_MINUS_8:
		break;
	default:
		return false;
	}
	if (fp_kind == PA_FP_AT_CFA)
		*fp = (struct cfi_rule){ .kind = CFI_OFFSET, .off = slot };
	return fp_kind != PA_FP_AT_FP;
}

/* Code that is known without a row has plain rules. */
static bool by_word(struct full_walk *w, pa_rule word)
{
	const struct unwind_arch *arch = w->arch;
	struct cfi_full_row row = {
		.cfa = { .kind = CFI_CFA,
			 .reg = (uint16_t)PA_RULE_CFA_REG(word),
			 .off = PA_RULE_CFA_OFF(word) },
		.nr_regs = arch->nr_regs,
		.ra_reg = arch->lr != UNWIND_NO_REG ? arch->lr : arch->pc,
		.is_signal = word & PA_RULE_SIGNAL,
		.ra_signed = word & PA_RULE_SIGNED,
	};

	if (PA_RULE_CFA_KIND(word) != PA_CFA_REG ||
	    !rules_of_word(arch, word, &row.regs[row.ra_reg], &row.regs[arch->fp]))
		return end(w, PA_STOP_HARD_RULE);
	return by_row(w, &row);
}

/* As pa_is_begun(). */
static bool is_begun(const struct full_walk *w)
{
	return !w->is_exact && w->pc % FUNCTION_ALIGN == 0 &&
	       !w->source->can_return_to(w->ctx, w->pc);
}

bool full_walk_frame(struct full_walk *w)
{
	struct cfi_full_row row = { .nr_regs = 0 };
	pa_rule word, learned;
	uint32_t stop;

	if (w->nr >= PA_MAX_USER_FRAMES)
		return end(w, PA_STOP_TOO_DEEP);
	stop = w->source->rule(w->ctx, w->is_exact ? w->pc : w->pc - 1, &word, &row);
	if (stop)
		return end(w, stop);
	switch (PA_RULE_CFA_KIND(word)) {
	case PA_CFA_NONE:
		if (w->source->learn && w->source->learn(w->ctx, w, &learned))
			return by_word(w, learned);
		return w->is_exact ? by_code(w, word) : by_record(w, word);
	case PA_CFA_SWITCH:
		return by_fp(w, 0, false);
	case PA_CFA_END:
		return end(w, PA_STOP_END);
	case PA_CFA_SIGNAL:
		return by_signal(w);
	default:
		if (is_begun(w))
			return end(w, PA_STOP_FP_END);
		return row.nr_regs ? by_row(w, &row) : by_word(w, word);
	}
}
