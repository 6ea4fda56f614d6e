/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a walk gets to the stack that was left for the current one, in functions that switch stacks
 * in a known way (PA_CFA_SWITCH). Included by walk_policy.h.
 *
 * Go's runtime saves in memory what it leaves: the registers of the goroutine in its runtime.g,
 * those of the thread's own stack in that stack's runtime.g, and the goroutine that calls C in the
 * frame of the caller. If such a value is missing or inconsistent the walk ends, because the
 * callers are not known.
 */
#ifndef BPF_WALK_SWITCH_H
#define BPF_WALK_SWITCH_H

#include "walk_state.h"

#ifdef __bpf__
#include "go_thread.bpf.h"
#endif

/* Reads Go's state of the thread; true if w->go is valid. */
PA_INLINE int pa_walk_find_go(struct pa_walk *w)
{
#ifdef __bpf__
	if (!w->go.m)
		pa_find_go(w->level);
#endif
	return w->go.m != 0;
}

/* Moves to the caller of the function that switched stacks, whose frame on the other stack begins
 * at sp. If it has a frame record, it has saved the caller's frame pointer; otherwise the register
 * is unchanged. */
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

/* Moves to the goroutine, which was left for good. If the thread no longer runs a goroutine, this
 * is the outermost frame. It may run another goroutine by now: the argument of mcall on the stack
 * shows that. */
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

/* Moves from Go code that C called back to that C code, on the thread's own stack. The word at its
 * position holds where the stack was left the time before. An exact pc in the switching function
 * itself may be on either stack. */
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

/* The end of a goroutine's stack; 0: unknown. */
PA_INLINE __u64 pa_walk_go_end(struct pa_walk *w, __u64 g)
{
	__u64 end;

	if (!pa_walk_word(w, &end, g + 8))
		return end;
	return pa_walk_find_go(w) && w->go.g == g ? w->go.end : 0;
}

/* Moves from C to the goroutine that called it. The frame holds the goroutine (0: none, the stack
 * is the same) and the distance from the end of its stack, which may have been moved since. */
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

PA_INLINE int pa_walk_switch_stack(struct pa_walk *w, pa_rule rule)
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

PA_INLINE int pa_walk_switch(struct pa_walk *w, pa_rule rule)
{
#ifdef __bpf__
	return pa_leave_stack(w->level, rule); /* a global function: see walk.bpf.c */
#else
	return pa_walk_switch_stack(w, rule);
#endif
}

#endif
