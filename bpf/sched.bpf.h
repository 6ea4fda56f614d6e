/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The scheduler's view of a task. */
#ifndef BPF_SCHED_BPF_H
#define BPF_SCHED_BPF_H

#include "maps.bpf.h"

#include <bpf/bpf_core_read.h>

#include "task_state.h"

/* Before 5.14 the field had a different name and size. */
static __always_inline u32 task_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return (u32)BPF_CORE_READ(task, state);
}

/* The state of the task that sched_switch takes off its CPU. The fourth argument must not be read
 * where there is none: the load is volatile, so that the compiler does not move it before the test.
 * The task's own state may already have been changed by a wake-up. */
static __always_inline u32 left_state(unsigned long long *ctx, struct task_struct *prev)
{
	u32 source = cfg.state_source;
	u32 arg = source == PA_STATE_OF_TASK ? 0 : (u32) * (volatile unsigned long long *)&ctx[3];

	return pa_left_state(source, arg, source == PA_STATE_ARG ? 0 : task_state(prev));
}

/* A task can have a sleeping state before it leaves its CPU. */
static __always_inline bool is_on_cpu(struct task_struct *task)
{
	return bpf_core_field_exists(task->on_cpu) && BPF_CORE_READ(task, on_cpu);
}

/* False if the kernel lacks the field, as is is_on_cpu() then. */
static __always_inline bool is_off_cpu(struct task_struct *task)
{
	return bpf_core_field_exists(task->on_cpu) && !BPF_CORE_READ(task, on_cpu);
}

/* Since 6.12 a task may stay on the run queue for a while after it has gone to sleep. */
static __always_inline bool is_queued(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->on_rq) || !BPF_CORE_READ(task, on_rq))
		return false;
	return !bpf_core_field_exists(task->se.sched_delayed) ||
	       !BPF_CORE_READ(task, se.sched_delayed);
}

static __always_inline bool is_asleep(struct task_struct *task)
{
	return pa_is_asleep(task_state(task), is_on_cpu(task), is_queued(task));
}

static __always_inline bool waits_for_cpu(struct task_struct *task)
{
	return pa_waits_for_cpu(task_state(task), !is_off_cpu(task), is_queued(task));
}

/* Whether this kernel marks sleeps for I/O. */
static __always_inline bool has_iowait_flag(void)
{
	return bpf_core_field_exists(struct task_struct, in_iowait);
}

static __always_inline bool is_in_iowait(struct task_struct *task)
{
	if (!has_iowait_flag())
		return false;
	return BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait);
}

#endif
