/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a walk gets from frame to frame, for every walker: the kernel's and its twin in user space
 * (walk.h), which track three registers, and the one that tracks all (src/unwind/full_walk.c).
 *
 * Each frame is left by the rule that the unwind table has for its pc (rows.h); without a table or
 * rule, by frame pointer if the register is plausible. Both architectures have the same frame
 * record: the caller's frame pointer at [fp], the return address at [fp + 8]. A function has no
 * record yet where it begins, and none any more where it returns: there fp is its caller's, and
 * following it would skip the caller. The instructions at the sampled pc decide this.
 *
 * Code that keeps no frame pointer leaves the register to its caller, and following it would skip
 * that caller, and all others up to the record. Each of them has left a return address below the
 * record: if a word there may be one, nothing is claimed.
 */
#ifndef BPF_WALK_POLICY_H
#define BPF_WALK_POLICY_H

#include "walk_state.h"

/*
 * Defined by the walker: its memory, its rules, its registers. Functions that end a walk return
 * pa_walk_end().
 */

/* The rule for a pc: 0 and *rule (a word with PA_CFA_NONE if none covers it), or the reason why
 * there is none (enum pa_stop). */
PA_INLINE __u32 pa_walk_rule(struct pa_walk *w, __u64 pc, pa_rule *rule);
/* The kind of code mapped there, as far as known: enum pa_code_kind. */
PA_INLINE __u32 pa_walk_code_kind(struct pa_walk *w, __u64 addr);
/* True if this walker can evaluate rules of a kind (enum pa_cfa); and to the caller by one. */
PA_INLINE int pa_walk_can_apply(__u32 kind);
PA_INLINE int pa_walk_by_rule(struct pa_walk *w, pa_rule rule);

/* A word of the target's memory: 0, or negative. Those below frame_end are needed next. */
PA_INLINE int pa_walk_word(struct pa_walk *w, __u64 *to, __u64 addr);
PA_INLINE void pa_walk_fill_window(struct pa_walk *w, __u64 frame_end);

/* A return address without its signature. */
PA_INLINE __u64 pa_strip_pac(struct pa_walk *w, __u64 pc);
/* By the code at w->pc: enum pa_record_place. */
PA_INLINE __u32 pa_record_at(struct pa_walk *w);
/* True if pc may be a return address, or if that cannot be checked. */
PA_INLINE int pa_can_return_to(struct pa_walk *w, __u64 pc);
/* True if return addresses below the record at fp show that it would skip frames. */
PA_INLINE int pa_walk_may_skip(struct pa_walk *w);

/* To the caller by the return address where a call leaves it, all other registers unchanged; and by
 * the kernel's signal frame. */
PA_INLINE int pa_walk_called(struct pa_walk *w);
PA_INLINE int pa_walk_signal(struct pa_walk *w);
/* Before the frame is left by its record: registers other than sp and fp are still the caller's. */
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

/* w is that frame from here on: of its registers no others are known. */
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

/* True if w->pc is a return address that no call left on the stack. The sampled frame has none: in a
 * system call its pc is not exact either, but that is where the kernel returns to. */
PA_INLINE int pa_is_uncalled(struct pa_walk *w)
{
	return !w->is_exact && w->nr > 1 && !pa_can_return_to(w, w->pc);
}

/* True if the frame was set up by hand to begin a stack: the function at pc is what a fiber returns
 * to when it ends, and the code before it made no call. That code's rule does not apply to the
 * fiber. Called rarely, because it reads the code. Generated code also returns to addresses without
 * a call: HotSpot's interpreter does. */
PA_INLINE int pa_is_begun(struct pa_walk *w)
{
	return pa_is_entry_aligned(w->pc) && pa_is_uncalled(w) &&
	       pa_walk_code_kind(w, w->pc) == PA_CODE_TABLE;
}

/* Whether a rule of pc may be kept with PA_RULE_AFTER_CALL: the code before w->pc, which would be
 * read at every walk (pa_is_begun), always shows a call. */
PA_INLINE int pa_is_after_call(struct pa_walk *w, __u64 pc, pa_rule rule)
{
	return PA_RULE_CFA_KIND(rule) != PA_CFA_NONE && !w->is_exact && pc == w->pc - 1 &&
	       pa_is_entry_aligned(w->pc) && pa_can_return_to(w, w->pc);
}

/* By frame pointer: aligned, in user space, and above its lowest possible address. Nothing else
 * confirms a guess. */
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

/* True if a rule itself implies that there is a record, so that no skipped frames need to be looked
 * for. */
PA_INLINE int pa_has_record(pa_rule rule, int is_exact)
{
	return rule == PA_RULE_WORD_FP || (rule == PA_RULE_WORD_RECORDS && !is_exact);
}

/* True if the way in which the frame at w->pc returns may be derived from its code: nothing else is
 * known of it. */
PA_INLINE int pa_walk_may_learn(struct pa_walk *w, __u64 pc, pa_rule rule)
{
	return PA_RULE_CFA_KIND(rule) == PA_CFA_NONE && pc == w->pc - !w->is_exact &&
	       !pa_has_record(rule, w->is_exact);
}

/* Without a rule. Below an accepted record there must be no frame of another function. In a gap, a
 * return to an address without a call was set up by hand, to begin a stack. */
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

/* The same for an exact pc: there may be no record, or one that fp does not point to yet. In a gap
 * of a table, which is hand-written assembly, fp may hold anything. Generated code has it or is
 * lost; what it returns to may have been put there by other means than a call. */
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

/* From the frame at w->pc to its caller. 1: w is the caller now; 0: the walk ended, w->stop says
 * why. */
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
