/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a walk gets to the stack that was left for this one, where the code that switches says how
 * (PA_CFA_SWITCH). Included by walk_policy.h.
 *
 * Go keeps what it leaves in memory: the goroutine's registers in its description, those of the
 * thread's own stack in another one, the goroutine that calls C in the caller's frame. What is not
 * there, or does not fit, ends the walk: nothing is claimed of callers that are not known.
 */
#ifndef BPF_WALK_SWITCH_H
#define BPF_WALK_SWITCH_H

#include "walk_state.h"

#ifdef __bpf__
#include "go_thread.bpf.h"
#endif

/* True if w->go describes the thread. */
PA_INLINE int pa_walk_find_go(struct pa_walk *w)
{
#ifdef __bpf__
	if (!w->go.m)
		pa_find_go(w->level);
#endif
	return w->go.m != 0;
}

/* To the caller of the switching function, whose frame on the other stack begins at sp. With a frame
 * of its own it has saved the caller's frame pointer, else it has left it alone. */
PA_INLINE int pa_walk_from(struct pa_walk *w, __u64 sp, pa_rule rule)
{
	__u64 cfa = sp + (__u64)PA_RULE_CFA_OFF(rule), pc, fp = w->fp;

	if ((cfa & 7) || !pa_is_user_addr(cfa))
		return pa_walk_end(w, PA_STOP_STACK_SWITCH);
	pa_walk_fill_window(w, cfa);
	if (pa_walk_word(w, &pc, cfa - 8) ||
	    (PA_RULE_SWITCH_HAS_FP(rule) && pa_walk_word(w, &fp, cfa - 16)))
		return pa_walk_end(w, PA_STOP_STACK_FAULT);
	if (!pa_can_return_to(w, pc))
		return pa_walk_end(w, PA_STOP_STACK_SWITCH);
	w->has_fp |= PA_RULE_SWITCH_HAS_FP(rule);
	return pa_walk_enter(w, pc, cfa, fp, 0);
}

/* To what the goroutine was left in for good. The thread may work for nobody by now, and then this is
 * the outermost frame; or for another goroutine, which mcall's argument shows. */
PA_INLINE int pa_walk_to_left(struct pa_walk *w, __u32 way)
{
	__u64 g = 0;

	if (!pa_walk_find_go(w))
		return pa_walk_end(w, PA_STOP_STACK_SWITCH);
	if (!w->go.g)
		return pa_walk_end(w, PA_STOP_END);
	if (way == PA_SWITCH_MCALL && (pa_walk_word(w, &g, w->sp) || g != w->go.g))
		return pa_walk_end(w, PA_STOP_STACK_SWITCH);
	if (!pa_is_user_addr(w->go.pc) || !pa_can_return_to(w, w->go.pc))
		return pa_walk_end(w, PA_STOP_STACK_SWITCH);
	w->has_fp = 1;
	return pa_walk_enter(w, w->go.pc, w->go.sp, w->go.fp, 0);
}

/* From Go that C has called, to that C: on the thread's own stack. Its lowest word says where it was
 * left the time before. What runs in the switching function itself may be on that stack already, or still. */
PA_INLINE int pa_walk_to_own(struct pa_walk *w, pa_rule rule)
{
	__u64 sp;

	if (w->is_exact || !pa_walk_find_go(w))
		return pa_walk_end(w, PA_STOP_STACK_SWITCH);
	sp = w->go.own_sp;
	if (w->own_sp && pa_walk_word(w, &sp, w->own_sp))
		return pa_walk_end(w, PA_STOP_STACK_FAULT);
	if (!sp)
		return pa_walk_end(w, PA_STOP_STACK_SWITCH);
	w->own_sp = sp;
	return pa_walk_from(w, sp, rule);
}

/* Where a goroutine's stack ends; 0: unknown. */
PA_INLINE __u64 pa_walk_go_end(struct pa_walk *w, __u64 g)
{
	__u64 end;

	if (!pa_walk_word(w, &end, g + 8))
		return end;
	return pa_walk_find_go(w) && w->go.g == g ? w->go.end : 0;
}

/* From C to the goroutine that called it: its frame holds which one (0: none, the stack is the same)
 * and how far from the end of its stack, which may have been moved since. */
PA_INLINE int pa_walk_to_c_caller(struct pa_walk *w, pa_rule rule)
{
	__u64 at = w->sp + (__u64)PA_RULE_SLOT(rule), g, depth, end;

	if (!w->is_exact && !w->is_sp_low && !pa_walk_word(w, &g, at) &&
	    !pa_walk_word(w, &depth, at - 8)) {
		if (!g)
			return pa_walk_from(w, depth, rule);
		end = pa_walk_go_end(w, g);
		if (end > depth)
			return pa_walk_from(w, end - depth, rule);
	}
	return PA_RULE_SWITCH_HAS_FP(rule) ? pa_walk_by_fp(w, 0, 0)
					   : pa_walk_end(w, PA_STOP_STACK_SWITCH);
}

PA_INLINE int pa_walk_switch(struct pa_walk *w, pa_rule rule)
{
	__u32 way = PA_RULE_SWITCH_WAY(rule);

	if (way == PA_SWITCH_FP)
		return pa_walk_by_fp(w, 0, 0);
	if (way == PA_SWITCH_MCALL || way == PA_SWITCH_MORESTACK)
		return pa_walk_to_left(w, way);
	if (way == PA_SWITCH_CALLBACK)
		return pa_walk_to_own(w, rule);
	if (way == PA_SWITCH_C)
		return pa_walk_to_c_caller(w, rule);
	if (way == PA_SWITCH_SYSTEM && !w->is_exact && pa_walk_find_go(w) && w->go.g)
		return pa_walk_from(w, w->go.sp, rule);
	return pa_walk_end(w, PA_STOP_STACK_SWITCH);
}

#endif
