/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a walk gets from frame to frame, for every walker: the one in the kernel and its twin in user
 * space (walk.h), which track three registers, and the one that tracks all of them
 * (src/unwind/full_walk.c).
 *
 * Each frame is left by the rule that the unwind table has for its pc (rows.h); without a table or
 * rule, by frame pointer if the register is plausible. Both architectures have the same frame
 * record: the caller's frame pointer at [fp], the return address at [fp + 8]. At its entry a
 * function has no record yet, and at its return none any more: fp is still the caller's then, and
 * following it would skip the caller. The instructions at the sampled pc show whether that is so.
 *
 * Code that keeps no frame pointer leaves the register of its caller unchanged. Following it would
 * skip that caller, and all others up to the record. Each of them has left a return address below
 * the record: if a word there may be a return address, the walk ends.
 */
#ifndef BPF_WALK_POLICY_H
#define BPF_WALK_POLICY_H

#include "walk_state.h"

/*
 * Each walker defines these functions for its memory, rules and registers. Functions that end a
 * walk return pa_walk_end().
 */

/* The rule for a pc: 0 and *rule (a word with PA_CFA_NONE if none covers it), or the reason why
 * there is none (enum pa_stop). */
PA_INLINE __u32 pa_walk_rule(struct pa_walk *w, __u64 pc, pa_rule *rule);
/* The kind of code mapped at addr, as far as known: enum pa_code_kind. */
PA_INLINE __u32 pa_walk_code_kind(struct pa_walk *w, __u64 addr);
/* True if this walker can evaluate rules of that kind (enum pa_cfa); and the step to the caller by
 * such a rule. */
PA_INLINE int pa_walk_can_apply(__u32 kind);
PA_INLINE int pa_walk_by_rule(struct pa_walk *w, pa_rule rule);

/* Reads a word of the target's memory: 0, or negative. Words below frame_end are needed next. */
PA_INLINE int pa_walk_word(struct pa_walk *w, __u64 *to, __u64 addr);
PA_INLINE void pa_walk_fill_window(struct pa_walk *w, __u64 frame_end);

/* A return address without its PAC. */
PA_INLINE __u64 pa_strip_pac(struct pa_walk *w, __u64 pc);
/* Where the frame record is, by the code at w->pc: enum pa_record_place. */
PA_INLINE __u32 pa_record_at(struct pa_walk *w);
/* True if pc may be a return address, or if that cannot be checked. */
PA_INLINE int pa_can_return_to(struct pa_walk *w, __u64 pc);
/* True if return addresses below the record at fp show that following it would skip frames. */
PA_INLINE int pa_walk_may_skip(struct pa_walk *w);

/* Steps to the caller: by the return address where a call leaves it, with all other registers
 * unchanged; and by the kernel's signal frame. */
PA_INLINE int pa_walk_called(struct pa_walk *w);
PA_INLINE int pa_walk_signal(struct pa_walk *w);
/* Called before the frame is left by its record: registers other than sp and fp still have the
 * caller's values. */
PA_INLINE void pa_walk_keep_others(struct pa_walk *w);

/* A user address that may be code: not in the first page, not in the kernel's half. */
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

/* Makes w that frame; its other registers are unknown. */
PA_INLINE void pa_walk_set(struct pa_walk *w, __u64 pc, __u64 sp, __u64 fp, int is_exact)
{
	w->pc = pc;
	w->sp = sp;
	w->fp = fp;
	w->is_exact = (__u8)is_exact;
	w->is_interrupted = 0;
	w->is_sp_low = 0;
	w->has_regs = 0;
	w->has_lr = 0;
}

PA_INLINE int pa_walk_enter(struct pa_walk *w, __u64 pc, __u64 sp, __u64 fp, int is_exact)
{
	if (!pa_is_user_addr(pc))
		return pa_walk_end(w, PA_STOP_FP_END);
	pa_walk_set(w, pc, sp, fp, is_exact);
	w->nr++;
	return 1;
}

/* The alignment of functions. */
#define PA_FUNCTION_ALIGN 16u

PA_INLINE int pa_is_entry_aligned(__u64 pc)
{
	return !(pc & (PA_FUNCTION_ALIGN - 1));
}

/* True if w->pc is a return address that was not left by a call. Never true of the sampled frame:
 * in a system call its pc is not exact either, but the kernel does return there. */
PA_INLINE int pa_is_uncalled(struct pa_walk *w)
{
	return !w->is_exact && w->nr > 1 && !pa_can_return_to(w, w->pc);
}

/* True if the frame was set up by hand at the bottom of a stack: pc is the function that a fiber
 * returns to when it ends, so no call precedes it, and the rule of the code before pc does not
 * apply. Called rarely, because it reads code. Not for generated code, which also returns to
 * addresses without a call: HotSpot's interpreter does. */
PA_INLINE int pa_is_begun(struct pa_walk *w)
{
	return pa_is_entry_aligned(w->pc) && pa_is_uncalled(w) &&
	       pa_walk_code_kind(w, w->pc) == PA_CODE_TABLE;
}

/* True if a rule of pc may be cached with PA_RULE_AFTER_CALL, since a call precedes w->pc. Saves
 * pa_is_begun() from reading the code in every walk. */
PA_INLINE int pa_is_after_call(struct pa_walk *w, __u64 pc, pa_rule rule)
{
	return PA_RULE_CFA_KIND(rule) != PA_CFA_NONE && !w->is_exact && pc == w->pc - 1 &&
	       pa_is_entry_aligned(w->pc) && pa_can_return_to(w, w->pc);
}

/* By frame pointer, which must be aligned, in user space, and not below the lowest possible
 * address. A guess is accepted only if pc is a plausible return address. */
PA_INLINE int pa_walk_by_fp(struct pa_walk *w, __u64 lowest, int is_guess)
{
	__u64 fp, pc;

	if (!w->has_fp || w->fp < lowest || (w->fp & 7) || !pa_is_user_addr(w->fp))
		return pa_walk_end(w, PA_STOP_FP_END);
	pa_walk_fill_window(w, w->fp + 16);
	if (pa_walk_word(w, &fp, w->fp) || pa_walk_word(w, &pc, w->fp + 8))
		return pa_walk_end(w, PA_STOP_STACK_FAULT);
	pc = pa_strip_pac(w, pc);
	if (is_guess && !pa_can_return_to(w, pc))
		return pa_walk_end(w, PA_STOP_FP_END);
	return pa_walk_enter(w, pc, w->fp + 16, fp, 0);
}

/* True if the rule itself implies that there is a frame record, so that there is no need to search
 * for skipped frames. */
PA_INLINE int pa_has_record(pa_rule rule, int is_exact)
{
	return rule == PA_RULE_WORD_FP || (rule == PA_RULE_WORD_RECORDS && !is_exact);
}

/* True if a rule for the frame at w->pc may be derived from its code, because there is no other. */
PA_INLINE int pa_walk_may_learn(struct pa_walk *w, __u64 pc, pa_rule rule)
{
	return PA_RULE_CFA_KIND(rule) == PA_CFA_NONE && pc == w->pc - !w->is_exact &&
	       !pa_has_record(rule, w->is_exact);
}

/* Leaves a frame without a rule by its record. There must be no frame of another function below the
 * record. In a gap of a table, a return address without a call before it was set up by hand at the
 * bottom of a stack. */
PA_INLINE int pa_walk_by_record(struct pa_walk *w, pa_rule rule)
{
	if (rule == PA_RULE_WORD_GAP && pa_is_uncalled(w))
		return pa_walk_end(w, PA_STOP_FP_END);
	if (!pa_has_record(rule, w->is_exact) && pa_walk_may_skip(w))
		return pa_walk_end(w, PA_STOP_NO_RECORD);
	if (!pa_walk_by_fp(w, w->sp, rule == PA_RULE_WORD_GAP))
		return 0;
	w->is_sp_low = 1;
	return 1;
}

/* Leaves a frame without a rule at an exact pc: there may be no record, or one that fp does not
 * point to yet. In a gap of a table, which is hand-written assembly, fp may hold anything, so the
 * return address is checked. Generated code can be left only by its record, and its return address
 * is not checked, because it also returns to addresses without a call. */
PA_INLINE int pa_walk_by_code(struct pa_walk *w, pa_rule rule)
{
	__u32 record = pa_record_at(w);

	if (record == PA_RECORD_NONE)
		return pa_walk_called(w);
	if (record == PA_RECORD_AT_FP)
		return pa_walk_by_record(w, rule);
	pa_walk_keep_others(w);
	w->fp = w->sp;
	w->has_fp = 1;
	return pa_walk_by_fp(w, w->sp, 0);
}

#include "walk_switch.h"

/* Moves from the frame at w->pc to its caller. 1: w is the caller now; 0: the walk has ended,
 * w->stop is the reason. */
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
		return pa_walk_switch(w, rule);
	if (kind == PA_CFA_END)
		return pa_walk_end(w, PA_STOP_END);
	if (!pa_walk_can_apply(kind))
		return pa_walk_end(w, PA_STOP_HARD_RULE);
	if (kind == PA_CFA_SIGNAL) {
		if (!pa_walk_signal(w))
			return 0;
		w->is_interrupted = 1;
		return 1;
	}
	if (!(rule & PA_RULE_AFTER_CALL) && pa_is_begun(w))
		return pa_walk_end(w, PA_STOP_FP_END);
	return pa_walk_by_rule(w, rule);
}

#endif
