/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The meaning of a task's state. Plain functions, which user space tests. */
#ifndef BPF_TASK_STATE_H
#define BPF_TASK_STATE_H

#include "abi.h"

/* include/linux/sched.h: bits of a task's state; 0: it can run. */
#define TASK_UNINTERRUPTIBLE 0x2u
#define TASK_STOPPED 0x4u
#define TASK_TRACED 0x8u
#define TASK_DEAD 0x80u
#define TASK_WAKING 0x200u /* on its way to a run queue */
#define TASK_NOLOAD 0x400u /* with TASK_UNINTERRUPTIBLE: a kernel thread without work */
#define TASK_NEW 0x800u    /* not yet on a run queue */

/* Why a task leaves its CPU. */
enum pa_leave {
	PA_LEAVE_RUNNABLE, /* preempted, or it yields */
	PA_LEAVE_SLEEP,
	PA_LEAVE_DISK,    /* an uninterruptible sleep; whether for I/O: is_in_iowait() */
	PA_LEAVE_STOPPED, /* stopped by a signal or a tracer */
	PA_LEAVE_DEAD,    /* the task has exited */
};

PA_INLINE __u32 pa_left_state(__u32 source, __u32 arg, __u32 own)
{
	if (source == PA_STATE_OF_TASK)
		return own;
	return source == PA_STATE_ARG_UNSURE && !own ? 0 : arg;
}

/* A preempted task is still runnable, whatever it was about to wait for. */
PA_INLINE enum pa_leave why_left(_Bool is_preempted, __u32 state)
{
	if (state & TASK_DEAD)
		return PA_LEAVE_DEAD;
	if (is_preempted || !state)
		return PA_LEAVE_RUNNABLE;
	if (state & (TASK_STOPPED | TASK_TRACED))
		return PA_LEAVE_STOPPED;
	if ((state & TASK_UNINTERRUPTIBLE) && !(state & TASK_NOLOAD))
		return PA_LEAVE_DISK;
	return PA_LEAVE_SLEEP;
}

/* Whether a task, seen from outside, waits for a wake-up. A task that is about to wait already has
 * the state of a waiting one, on its CPU or, if it was preempted, on the run queue. */
PA_INLINE _Bool pa_is_asleep(__u32 state, _Bool is_on_cpu, _Bool is_queued)
{
	return state && !(state & (TASK_DEAD | TASK_WAKING | TASK_NEW)) && !is_on_cpu && !is_queued;
}

/* Whether a task, seen from outside, waits for a CPU. */
PA_INLINE _Bool pa_waits_for_cpu(__u32 state, _Bool is_on_cpu, _Bool is_queued)
{
	return is_queued && !is_on_cpu && !(state & (TASK_DEAD | TASK_WAKING | TASK_NEW));
}

#endif
