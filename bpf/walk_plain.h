/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A fast path for consecutive frames with plain rules: finds the same callers as pa_walk_frame() in
 * less than half the time, because nothing is looked up and all state stays in registers. At a
 * frame that is not plain the state is left unchanged, and pa_walk_frame() continues.
 */
#ifndef BPF_WALK_PLAIN_H
#define BPF_WALK_PLAIN_H

#include "walk.h"

/* Per call. The verifier follows every round of the loop: 32 of them were a third of all that it
 * looked at when the agent started. */
#define PA_PLAIN_FRAMES 8

/* Cached rules, in the order in which walks need them. The walker defines the struct, and the
 * function that returns 1 and *rule if the entry at that position is the rule of that pc, otherwise
 * 0. */
struct pa_rule_cache;
PA_INLINE int pa_walk_rule_at(const struct pa_walk *w, struct pa_rule_cache *rules, __u32 at,
			      __u64 pc, pa_rule *rule);

/* The part of a walk's state that changes with plain frames; kept in registers. */
struct pa_plain_walk {
	__u64 pc, sp, fp;
	__u32 next; /* position in the cache */
};

/* True for the rules of most frames: the CFA is sp or fp plus an offset, the return address is
 * right below the CFA, and the frame pointer is saved at an offset from it or unchanged. False if
 * the code before the return address would have to be checked for a call. */
PA_INLINE int pa_is_plain(pa_rule rule, __u64 pc)
{
	return PA_RULE_CFA_KIND(rule) == PA_CFA_REG && PA_RULE_RA_KIND(rule) == PA_RA_CFA_MINUS_8 &&
	       PA_RULE_FP_KIND(rule) <= PA_FP_AT_CFA &&
	       !(rule & (PA_RULE_SIGNED | PA_RULE_SIGNAL)) &&
	       ((rule & PA_RULE_AFTER_CALL) || !pa_is_entry_aligned(pc));
}

/* The word at an offset into the window; the caller has checked that the window has it. */
PA_INLINE __u64 pa_plain_word(const struct pa_walk *w, __u64 at)
{
	at /= sizeof(w->window[0]);
	PA_PIN(at);
	return pa_window_word(w, at);
}

/* The caller's frame pointer, as pa_walk_caller_fp() computes it; 0 if it is not in the window. */
PA_INLINE int pa_plain_fp(const struct pa_walk *w, struct pa_plain_walk *p, pa_rule rule, __u64 cfa)
{
	__u64 slot = cfa + (__u64)PA_RULE_SLOT(rule), at = slot - w->window_at;

	if (PA_RULE_FP_KIND(rule) == PA_FP_SAME || pa_is_overwritten(slot, p->sp, 0))
		return 1;
	if (!pa_is_in_window(w, slot, sizeof(p->fp)))
		return 0;
	p->fp = pa_plain_word(w, at);
	return 1;
}

/* Moves to the caller; 0 with nothing changed if pa_walk_frame() has to decide. */
PA_INLINE int pa_plain_frame(struct pa_walk *w, struct pa_rule_cache *rules,
			     struct pa_plain_walk *p)
{
	__u64 cfa, at, pc;
	pa_rule rule;
	__u32 reg;

	if (!pa_walk_rule_at(w, rules, p->next, p->pc - 1, &rule) || !pa_is_plain(rule, p->pc))
		return 0;
	reg = PA_RULE_CFA_REG(rule);
	if (reg != PA_REG_SP && reg != PA_REG_FP)
		return 0;
	cfa = (reg == PA_REG_SP ? p->sp : p->fp) + (__u64)PA_RULE_CFA_OFF(rule);
	if (cfa <= p->sp)
		return 0;
	pa_walk_fill_window(w, cfa);
	at = cfa - sizeof(pc);
	if (!pa_is_in_window(w, at, sizeof(pc)) || ((at - w->window_at) & 7))
		return 0;
	pc = pa_plain_word(w, at - w->window_at);
	if (!pa_is_user_addr(pc) || !pa_plain_fp(w, p, rule, cfa))
		return 0;
	p->pc = pc;
	p->sp = cfa;
	p->next++;
	return 1;
}

/* True if the frame at w->pc may be plain: its pc is a return address, and the registers that a
 * plain rule needs are known. */
PA_INLINE int pa_walk_may_be_plain(const struct pa_walk *w)
{
	return !w->is_exact && w->has_fp && w->window_at;
}

PA_INLINE __u32 pa_nr_plain_at_most(const struct pa_walk *w, __u32 room)
{
	__u32 in_all = PA_MAX_USER_FRAMES - w->nr, left = room < in_all ? room : in_all;

	return left < PA_PLAIN_FRAMES ? left : PA_PLAIN_FRAMES;
}

/* Walks the next frames as long as their rules are plain and consecutive in the cache, and what
 * they save can be read. Writes their pcs to words[] (PA_WORD_SLOTS of them) from index `at`.
 * Requires pa_walk_may_be_plain(). Returns the number of frames, at most `room`. */
PA_INLINE __u32 pa_walk_plain_frames(struct pa_walk *w, struct pa_rule_cache *rules, __u64 *words,
				     __u32 at, __u32 room)
{
	struct pa_plain_walk p = { w->pc, w->sp, w->fp, w->cached_next };
	__u32 left = pa_nr_plain_at_most(w, room), nr;

	for (nr = 0; nr < PA_PLAIN_FRAMES && nr < left; nr++) {
		if (!pa_plain_frame(w, rules, &p))
			break;
		words[(at + nr) & (PA_WORD_SLOTS - 1)] = p.pc;
	}
	if (!nr)
		return 0;
	pa_walk_set(w, p.pc, p.sp, p.fp, 0);
	w->cached_next = p.next;
	w->nr += nr;
	return nr;
}

#endif
