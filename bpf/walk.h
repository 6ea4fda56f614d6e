/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one walker over user stacks. This header is the walk itself, in plain C: the kernel runs it
 * frame by frame (walk.bpf.c); the host compiles it for tests and to finish walks that the kernel
 * could not.
 *
 * Each frame is left by the rule that the unwind table has for its pc (rows.h); where there is no
 * table or no rule, by frame pointer if that can be one. Both architectures lay a frame record out
 * alike: the caller's frame pointer at [fp], the return address at [fp + 8]. A function has no such
 * record yet where it begins, and none any more where it returns: there fp is its caller's, and a
 * walk by it would miss the caller. The instructions at the sampled pc tell.
 *
 * Code that keeps no frame pointer leaves the register to whoever called it, and a walk by it would
 * miss that caller, and all others up to the record. Each of them has left a return address below
 * the record: where a word there can be one, nothing is claimed.
 */
#ifndef BPF_WALK_H
#define BPF_WALK_H

#include "code.h"
#include "walk_state.h"

/* Defined by whoever includes this header, as pa_walk_read() is. The rule for a pc: 0 and *rule (a word with PA_CFA_NONE where none covers it), or why there is no
 * answer, a reason of enum pa_stop. */
PA_INLINE __u32 pa_walk_rule(struct pa_walk *w, __u64 pc, pa_rule *rule);

/* What is mapped there, as far as is known: enum pa_code_kind. */
PA_INLINE __u32 pa_walk_code_kind(struct pa_walk *w, __u64 addr);

/* A user address that can be code: not in the first page, not in the kernel's half. */
#define PA_USER_MIN 4096ull
#define PA_USER_MAX (1ull << 56) /* 57-bit addresses, the widest of both architectures */

PA_INLINE int pa_is_user_addr(__u64 addr)
{
	return addr >= PA_USER_MIN && addr < PA_USER_MAX;
}

/* Ends the walk. */
PA_INLINE int pa_walk_end(struct pa_walk *w, __u32 stop)
{
	w->stop = stop;
	return 0;
}

/* What a frame keeps for its caller lies right below its end, and below that of the next ones: all of
 * it is read at once. Near the end of a stack that fails, and words are read one by one. */
#define PA_KEPT_BYTES 64

PA_INLINE void pa_walk_fill_window(struct pa_walk *w, __u64 frame_end)
{
	__u64 from = frame_end - PA_KEPT_BYTES;

	if (w->window_at && from - w->window_at <= PA_WINDOW_BYTES - PA_KEPT_BYTES)
		return;
	w->window_at = pa_walk_read(w, w->window, PA_WINDOW_BYTES, from) ? 0 : from;
}

/* A word of the target's memory, most often one of the stack: there they lie aligned to each other. (Of
 * others the compiler would have to put every word together from its bytes.) */
PA_INLINE int pa_walk_word(struct pa_walk *w, __u64 *to, __u64 addr)
{
	__u64 at = addr - w->window_at;

	if (at < PA_WINDOW_BYTES && !(at & (sizeof(*to) - 1)) && w->window_at) {
		PA_PIN(at);
		*to = w->window[at / sizeof(*to) & (PA_WINDOW_BYTES / sizeof(*to) - 1)];
		return 0;
	}
	return pa_walk_read(w, to, sizeof(*to), addr);
}

#include "walk_arch.h"

/* A register by its DWARF number: sp and fp as far as they are known, the others at a frame whose
 * registers all are. */
PA_INLINE int pa_walk_reg(struct pa_walk *w, __u32 reg, __u64 *value)
{
	if (reg == PA_REG_SP) {
		*value = w->sp;
		return 0;
	}
	if (reg == PA_REG_FP && w->has_fp) {
		*value = w->fp;
		return 0;
	}
	*value = w->regs[reg & (PA_NR_REGS - 1)];
	return w->has_regs && reg != PA_REG_FP ? 0 : -1;
}

/* The CFA by a rule; 0, or a reason. */
PA_INLINE __u32 pa_walk_cfa(struct pa_walk *w, pa_rule rule, __u64 *cfa)
{
	__u32 kind = PA_RULE_CFA_KIND(rule);
	__u64 base;

	if (kind == PA_CFA_PLT) {
		*cfa = w->sp + 8 + ((w->pc & 15) >= (__u64)PA_RULE_CFA_OFF(rule) ? 8 : 0);
		return 0;
	}
	if (pa_walk_reg(w, PA_RULE_CFA_REG(rule), &base))
		return PA_STOP_HARD_RULE;
	if (kind == PA_CFA_REG) {
		*cfa = base + (__u64)PA_RULE_CFA_OFF(rule);
		return 0;
	}
	if (pa_walk_word(w, cfa, base + (__u64)PA_RULE_DEREF_OFF(rule)))
		return PA_STOP_STACK_FAULT;
	*cfa += (__u64)PA_RULE_DEREF_ADD(rule);
	return 0;
}

/* The caller's frame pointer into *fp; 0, or a reason. */
PA_INLINE __u32 pa_walk_caller_fp(struct pa_walk *w, pa_rule rule, __u64 cfa, __u64 *fp)
{
	__u32 kind = PA_RULE_FP_KIND(rule);
	__u64 at = cfa + (__u64)(PA_RULE_RA_KIND(rule) == PA_RA_BOTH ? PA_RULE_BOTH_FP(rule)
								     : PA_RULE_SLOT(rule));

	*fp = w->fp;
	if (kind == PA_FP_LOST)
		w->has_fp = 0;
	if (kind == PA_FP_AT_FP) {
		if (!w->has_fp)
			return PA_STOP_HARD_RULE;
		at = w->fp + (__u64)PA_RULE_SLOT(rule);
		/* Compilers leave the rule in force behind the instruction that restores the
		 * register: a slot outside of this frame says that it is the caller's already. */
		if (at < w->sp || at >= cfa)
			return 0;
	}
	/* Below sp is the red zone, which a call has overwritten: the register is unchanged then. */
	if (kind == PA_FP_SAME || kind == PA_FP_LOST || (at < w->sp && !w->is_exact))
		return 0;
	w->has_fp = 1;
	return pa_walk_word(w, fp, at) ? PA_STOP_STACK_FAULT : 0;
}

/* The return address into *pc; 0, or a reason. */
PA_INLINE __u32 pa_walk_caller_pc(struct pa_walk *w, pa_rule rule, __u64 cfa, __u64 *pc)
{
	__u32 kind = PA_RULE_RA_KIND(rule);
	__u64 at = cfa - 8;

	if (kind == PA_RA_LR) {
		*pc = w->lr;
		return w->has_lr ? 0 : PA_STOP_HARD_RULE;
	}
	if (kind == PA_RA_REG)
		return pa_walk_reg(w, PA_RULE_RA_REG(rule), pc) ? PA_STOP_HARD_RULE : 0;
	if (kind == PA_RA_AFTER_FP)
		at = cfa + (__u64)PA_RULE_SLOT(rule) + 8;
	else if (kind == PA_RA_AT_CFA)
		at = cfa + (__u64)PA_RULE_SLOT(rule);
	else if (kind == PA_RA_BOTH)
		at = cfa + (__u64)PA_RULE_BOTH_RA(rule);
	return pa_walk_word(w, pc, at) ? PA_STOP_STACK_FAULT : 0;
}

PA_INLINE int pa_walk_enter(struct pa_walk *w, __u64 pc, __u64 sp, __u64 fp, int is_exact)
{
	if (!pa_is_user_addr(pc))
		return pa_walk_end(w, PA_STOP_FP_END);
	w->pc = pc;
	w->sp = sp;
	w->fp = fp;
	w->is_exact = (__u8)is_exact;
	w->is_interrupted = 0;
	w->is_sp_low = 0;
	w->has_regs = 0;
	w->has_lr = 0;
	w->nr++;
	return 1;
}

/* Whether somebody may have called from there: it is behind a call, or where the kernel or Go's runtime
 * lets return to without one, or cannot be read. */
PA_INLINE int pa_can_return_to(struct pa_walk *w, __u64 pc)
{
	__u64 before = pa_code_before(w, pc), code;
	__u8 last;

	if (pa_is_behind_call(before))
		return 1;
	if (!before && pa_walk_read(w, &last, sizeof(last), pc - 1))
		return 1;
	code = pa_code_from(w, pc);
	return pa_is_sigreturn(code) || pa_is_goexit(before, code);
}

/* Where compilers and assemblers let functions begin. */
#define PA_FUNCTION_ALIGN 16u

/* Whether the frame was put on the stack by hand, to begin it: the function at pc is what a fiber returns
 * to when it is over, and nobody has called from the code before. What is said of that code does not
 * hold for the fiber. Asked of few: it reads the code. Code made at run time returns to where nobody called
 * from, too: HotSpot's interpreter does. */
PA_INLINE int pa_is_begun(struct pa_walk *w)
{
	return !w->is_exact && !(w->pc & (PA_FUNCTION_ALIGN - 1)) && !pa_can_return_to(w, w->pc) &&
	       pa_walk_code_kind(w, w->pc) == PA_CODE_TABLE;
}

/* A stack may be executable, and holds addresses of itself: they are code only if a call is before. */
#define PA_STACK_NEAR_BYTES (1u << 20)

/* Whether a function that keeps no record may return to there. Interpreters let the code that they
 * have made return to where nobody called from, and leave that address where they had it before
 * they put it where a call does: of a frame that repeats itself another one shows its caller. */
PA_INLINE int pa_is_return_address(struct pa_walk *w, __u64 word, __u64 addr)
{
	__u32 kind;

	word = pa_strip_pac(word);
	if (!pa_is_user_addr(word) || word == w->pc)
		return 0;
	kind = pa_walk_code_kind(w, word - 1);
	return kind != PA_CODE_NONE &&
	       pa_may_skip_to(w, word, addr,
			      kind == PA_CODE_BARE && word - w->sp >= PA_STACK_NEAR_BYTES);
}

/* A frame of so many words is not looked through, and nothing is claimed of it; nor of one where a walk
 * has looked at so many in all, since it does so in an interrupt. */
#ifdef __bpf__
#define PA_MAX_LOOKED_WORDS 128u
#define PA_MAX_LOOKED_IN_ALL 1024u
int pa_return_at(__u64 addr);
#else
#define PA_MAX_LOOKED_WORDS 8192u
#define PA_MAX_LOOKED_IN_ALL 16384u
#endif

/* Whether there may be the frames of others below the record at fp. */
PA_INLINE int pa_walk_may_skip(struct pa_walk *w)
{
	__u64 from = (w->sp + 7) & ~7ull, nr = (w->fp - from) / 8, word;

	if (!w->has_fp || w->fp <= from || (w->fp & 7) || !pa_is_user_addr(w->fp))
		return 0;
	pa_walk_fill_window(w, from + PA_KEPT_BYTES);
	if (pa_walk_word(w, &word, w->fp + 8))
		return 0; /* there is no record */
	if (nr > PA_MAX_LOOKED_WORDS || w->nr_looked + nr > PA_MAX_LOOKED_IN_ALL)
		return 1;
	w->nr_looked += (__u32)nr;
	for (__u32 i = 0; i < PA_MAX_LOOKED_WORDS && i < nr; i++) {
#ifdef __bpf__
		if (pa_return_at(from + i * 8ull))
			return 1;
#else
		if (pa_walk_word(w, &word, from + i * 8ull) ||
		    pa_is_return_address(w, word, from + i * 8ull))
			return 1;
#endif
	}
	return 0;
}

/* By frame pointer: aligned, in user space, and above the lowest address that it may have. A guess has
 * nothing else that speaks for it. */
PA_INLINE int pa_walk_by_fp(struct pa_walk *w, __u64 lowest, int is_guess)
{
	__u64 fp, pc;

	if (!w->has_fp || w->fp < lowest || (w->fp & 7) || !pa_is_user_addr(w->fp))
		return pa_walk_end(w, PA_STOP_FP_END);
	pa_walk_fill_window(w, w->fp + 16);
	if (pa_walk_word(w, &fp, w->fp) || pa_walk_word(w, &pc, w->fp + 8))
		return pa_walk_end(w, PA_STOP_STACK_FAULT);
	pc = pa_strip_pac(pc);
	if (is_guess && !pa_can_return_to(w, pc))
		return pa_walk_end(w, PA_STOP_FP_END);
	return pa_walk_enter(w, pc, w->fp + 16, fp, 0);
}

/* Whether a rule says itself that there is a record, so that nobody has to look for others. */
PA_INLINE int pa_has_record(pa_rule rule, int is_exact)
{
	return rule == PA_RULE_WORD_FP || (rule == PA_RULE_WORD_RECORDS && !is_exact);
}

/* Where no rule is. Below a record that counts there must be none of another one. In a gap, whoever
 * returns to where nobody has called from was put there by hand, to begin a stack. */
PA_INLINE int pa_walk_by_record(struct pa_walk *w, pa_rule rule)
{
	if (rule == PA_RULE_WORD_GAP && !w->is_exact && !pa_can_return_to(w, w->pc))
		return pa_walk_end(w, PA_STOP_FP_END);
	if (!pa_has_record(rule, w->is_exact) && pa_walk_may_skip(w))
		return pa_walk_end(w, PA_STOP_NO_RECORD);
	if (!pa_walk_by_fp(w, w->sp, rule == PA_RULE_WORD_GAP))
		return 0;
	w->is_sp_low = 1;
	return 1;
}

/* The same of a pc that is where it stands: there may be no record, or one that fp is not set to. In
 * a gap of a table, which is what somebody wrote by hand, fp may be anything. Code that is made at
 * run time has it or is lost; what it returns to may have been put there by other means than a call. */
PA_INLINE int pa_walk_by_code(struct pa_walk *w, pa_rule rule)
{
	__u32 record = pa_record_at(w);

	if (record == PA_RECORD_NONE)
		return pa_walk_called(w);
	if (record == PA_RECORD_AT_FP)
		return pa_walk_by_record(w, rule);
	w->fp = w->sp;
	w->has_fp = 1;
	return pa_walk_by_fp(w, w->sp, 0);
}

PA_INLINE int pa_walk_by_rule(struct pa_walk *w, pa_rule rule)
{
	__u64 cfa, fp, pc;
	__u32 stop = pa_walk_cfa(w, rule, &cfa);

	if (stop)
		return pa_walk_end(w, stop);
	pa_walk_fill_window(w, cfa);
	stop = pa_walk_caller_pc(w, rule, cfa, &pc);
	if (!stop)
		stop = pa_walk_caller_fp(w, rule, cfa, &fp);
	/* A leaf that keeps its return address in a register may have no frame at all. */
	if (!stop && (cfa < w->sp || (cfa == w->sp && !w->has_lr)))
		stop = PA_STOP_BAD_FRAME;
	if (stop)
		return pa_walk_end(w, stop);
	if (!pc) /* as those who begin a thread or a fiber put it there: nobody has called */
		return pa_walk_end(w, PA_STOP_END);
	return pa_walk_enter(w, rule & PA_RULE_SIGNED ? pa_strip_pac(pc) : pc, cfa, fp,
			     (rule & PA_RULE_SIGNAL) != 0);
}

/* A rule that the code itself has shown is believed where the stack agrees: it leads to an address that
 * can be returned to. */
PA_INLINE int pa_walk_agrees(struct pa_walk *w, pa_rule rule)
{
	__u64 cfa, pc;
	__u32 kind;

	if (pa_walk_cfa(w, rule, &cfa) || cfa <= w->sp || pa_walk_caller_pc(w, rule, cfa, &pc) ||
	    !pa_is_user_addr(pc))
		return 0;
	kind = pa_walk_code_kind(w, pc - 1);
	return kind == PA_CODE_BARE ||
	       (kind == PA_CODE_TABLE && pa_is_behind_call(pa_code_before(w, pc)));
}

/* From the frame at w->pc to its caller. 1: w is the caller now; 0: over, w->stop says why. */
PA_INLINE int pa_walk_frame(struct pa_walk *w)
{
	pa_rule rule;
	__u32 stop, kind;

	w->is_bare = 0;
	if (w->nr >= PA_MAX_USER_FRAMES)
		return pa_walk_end(w, PA_STOP_TOO_DEEP);
	stop = pa_walk_rule(w, w->is_exact ? w->pc : w->pc - 1, &rule);
	if (stop)
		return pa_walk_end(w, stop);
	kind = PA_RULE_CFA_KIND(rule);
	w->is_bare = kind == PA_CFA_NONE;
	if (w->is_bare)
		return w->is_exact ? pa_walk_by_code(w, rule) : pa_walk_by_record(w, rule);
	if (kind == PA_CFA_SWITCH)
		return pa_walk_by_fp(w, 0, 0);
	if (kind == PA_CFA_END)
		return pa_walk_end(w, PA_STOP_END);
	if (kind == PA_CFA_USER)
		return pa_walk_end(w, PA_STOP_HARD_RULE);
	if (kind == PA_CFA_SIGNAL) {
		if (!pa_walk_signal(w))
			return 0;
		w->is_interrupted = 1;
		return 1;
	}
	if (pa_is_begun(w))
		return pa_walk_end(w, PA_STOP_FP_END);
	return pa_walk_by_rule(w, rule);
}

#endif
