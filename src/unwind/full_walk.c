/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/full_walk.h"

#include <errno.h>

#include "bpf/walk_policy.h"
#include "unwind/cfi_expr.h"
#include "unwind/full_eval.h"
#include "unwind/rule.h"

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

static uint32_t stop_of(int error)
{
	return error == -EFAULT ? PA_STOP_STACK_FAULT : PA_STOP_HARD_RULE;
}

static struct full_walk *full_of(const struct pa_walk *w)
{
	return w->env;
}

void full_walk_init(struct full_walk *w, const struct unwind_arch *arch, uint64_t pc,
		    const uint64_t *regs, size_t nr)
{
	*w = (struct full_walk){ .arch = arch, .at = { .pc = pc, .nr = 1, .is_exact = 1 } };
	for (unsigned int i = 0; i < nr && i < arch->nr_regs; i++)
		set_reg(&w->regs, i, regs[i]);
	set_reg(&w->regs, arch->pc, pc);
}

PA_INLINE int pa_walk_word(struct pa_walk *w, __u64 *to, __u64 addr)
{
	const struct full_walk *f = full_of(w);

	return f->source->read(f->ctx, addr, to, sizeof(*to));
}

/* Nothing to do: memory is read word by word. */
PA_INLINE void pa_walk_fill_window(struct pa_walk *w, __u64 frame_end)
{
	(void)w, (void)frame_end;
}

PA_INLINE __u32 pa_walk_rule(struct pa_walk *w, __u64 pc, pa_rule *rule)
{
	struct full_walk *f = full_of(w);
	uint32_t stop;

	f->row.nr_regs = 0;
	f->is_learned = false;
	stop = f->source->rule(f->ctx, pc, rule, &f->row);
	if (!stop && f->source->learn && pa_walk_may_learn(w, pc, *rule))
		f->is_learned = f->source->learn(f->ctx, f, rule);
	return stop;
}

/* Called only for code that has a rule. */
PA_INLINE __u32 pa_walk_code_kind(struct pa_walk *w, __u64 addr)
{
	(void)addr;
	return full_of(w)->is_learned ? PA_CODE_BARE : PA_CODE_TABLE;
}

PA_INLINE __u64 pa_strip_pac(struct pa_walk *w, __u64 pc)
{
	return pc & full_of(w)->arch->code_mask;
}

PA_INLINE __u32 pa_record_at(struct pa_walk *w)
{
	return full_of(w)->source->record_at(full_of(w)->ctx, w->pc);
}

PA_INLINE int pa_can_return_to(struct pa_walk *w, __u64 pc)
{
	return full_of(w)->source->can_return_to(full_of(w)->ctx, pc);
}

PA_INLINE int pa_walk_may_skip(struct pa_walk *w)
{
	const struct full_walk *f = full_of(w);

	return w->has_fp && f->source->may_skip && f->source->may_skip(f->ctx, w->sp, w->fp);
}

/* Called after the frame: a call has overwritten lr. */
PA_INLINE void pa_walk_keep_others(struct pa_walk *w)
{
	struct full_walk *f = full_of(w);

	f->next = f->regs;
	if (f->arch->lr != UNWIND_NO_REG)
		lose_reg(&f->next, f->arch->lr);
}

PA_INLINE int pa_walk_called(struct pa_walk *w)
{
	const struct full_walk *f = full_of(w);
	__u64 pc;

	pa_walk_keep_others(w);
	if (f->arch->lr == UNWIND_NO_REG)
		return pa_walk_word(w, &pc, w->sp) ? pa_walk_end(w, PA_STOP_STACK_FAULT)
						   : pa_walk_enter(w, pc, w->sp + 8, w->fp, 0);
	if (!is_known(&f->regs, f->arch->lr))
		return pa_walk_end(w, PA_STOP_FP_END);
	return pa_walk_enter(w, pa_strip_pac(w, f->regs.v[f->arch->lr]), w->sp, w->fp, 0);
}

/* Moves to the caller, whose registers are in f->next. */
static int enter_next(struct full_walk *f, uint64_t pc, bool is_exact)
{
	const struct unwind_arch *arch = f->arch;

	f->at.has_fp = is_known(&f->next, arch->fp);
	return pa_walk_enter(&f->at, pc, f->next.v[arch->sp], f->next.v[arch->fp], is_exact);
}

/* Steps to the interrupted frame: the kernel saved all its registers above sp. */
PA_INLINE int pa_walk_signal(struct pa_walk *w)
{
	struct full_walk *f = full_of(w);
	__u64 v;

	for (unsigned int i = 0; i < f->arch->nr_regs; i++) {
		if (pa_walk_word(w, &v, w->sp + f->arch->signal_offsets[i]))
			return pa_walk_end(w, PA_STOP_STACK_FAULT);
		set_reg(&f->next, i, v);
	}
	return enter_next(f, f->next.v[f->arch->pc], true);
}

/*
 * Compilers leave a rule in force after the instruction that restores the register. The slot is
 * then below sp, where a later call overwrites it (before the first call it is still valid); or, if
 * it is relative to a frame pointer that is already the caller's, in another frame.
 */
static bool is_restored(const struct full_walk *w, const struct cfi_rule *rule, uint64_t at,
			uint64_t cfa)
{
	uint64_t sp = w->regs.v[w->arch->sp];
	struct cfi_sym sym;

	if (rule->kind == CFI_OFFSET)
		return at < sp && !w->at.is_exact;
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

/* If sp follows from the CFA alone, each frame lies above the one that it called; only the
 * innermost may have its return address in a register and use no stack at all. */
static bool is_above(const struct full_walk *w, const struct cfi_full_row *row, uint64_t next)
{
	uint64_t sp = w->regs.v[w->arch->sp];

	if (row->is_signal || row->regs[w->arch->sp].kind != CFI_UNSET)
		return true;
	return next > sp ||
	       (next == sp && w->arch->lr != UNWIND_NO_REG && (w->at.is_exact || w->at.nr == 1));
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

static int by_row(struct full_walk *w, const struct cfi_full_row *row)
{
	uint32_t stop;
	uint64_t pc;

	if (row->regs[row->ra_reg].kind == CFI_UNDEFINED)
		return pa_walk_end(&w->at, PA_STOP_END);
	/* A column that is not a register needs an explicit rule. */
	if (row->ra_reg == w->arch->pc && row->regs[row->ra_reg].kind <= CFI_SAME)
		return pa_walk_end(&w->at, PA_STOP_HARD_RULE);
	stop = evaluate(w, row, &w->next, &pc);
	if (stop)
		return pa_walk_end(&w->at, stop);
	if (!pc)
		return pa_walk_end(&w->at, PA_STOP_END); /* as in bpf/walk.h: no caller */
	if (!row->is_signal)
		lose_reg(&w->next, row->ra_reg); /* the call has overwritten that register */
	return enter_next(w, row->ra_signed ? pa_strip_pac(&w->at, pc) : pc, row->is_signal);
}

/* Expresses the return address and frame pointer of a word as CFI rules. */
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

/* Leaves a frame for which only the rule word is known. */
static int by_word(struct full_walk *w, pa_rule word)
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
		return pa_walk_end(&w->at, PA_STOP_HARD_RULE);
	return by_row(w, &row);
}

PA_INLINE int pa_walk_can_apply(__u32 kind)
{
	(void)kind;
	return 1;
}

PA_INLINE int pa_walk_by_rule(struct pa_walk *w, pa_rule rule)
{
	struct full_walk *f = full_of(w);

	return f->row.nr_regs ? by_row(f, &f->row) : by_word(f, rule);
}

/* Code without a rule may have changed any register other than sp and fp. */
bool full_walk_frame(struct full_walk *w)
{
	const struct unwind_arch *arch = w->arch;
	struct pa_walk *at = &w->at;

	at->env = w;
	at->sp = w->regs.v[arch->sp];
	at->fp = w->regs.v[arch->fp];
	at->has_fp = is_known(&w->regs, arch->fp);
	w->next = (struct frame_regs){ 0 };
	if (!pa_walk_frame(at))
		return false;
	w->regs = w->next;
	set_reg(&w->regs, arch->sp, at->sp);
	set_reg(&w->regs, arch->pc, at->pc);
	if (at->has_fp)
		set_reg(&w->regs, arch->fp, at->fp);
	return true;
}
