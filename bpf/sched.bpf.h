/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the scheduler knows of a task. */
#ifndef BPF_SCHED_BPF_H
#define BPF_SCHED_BPF_H

#include "maps.bpf.h"

#include <bpf/bpf_core_read.h>

#include "task_state.h"

/* The field has had another name and size before 5.14. */
static __always_inline u32 task_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return (u32)BPF_CORE_READ(task, state);
}

/* Of the one that sched_switch takes off its CPU. The fourth argument must not be touched where there is
 * none: the load is volatile, or it is done ahead of the test. The task's own state may have been changed already
 * by whoever wakes it up. */
static __always_inline u32 left_state(unsigned long long *ctx, struct task_struct *prev)
{
	u32 source = cfg.state_source;
	u32 arg = source == PA_STATE_OF_TASK ? 0 : (u32) * (volatile unsigned long long *)&ctx[3];

	return pa_left_state(source, arg, source == PA_STATE_ARG ? 0 : task_state(prev));
}

/* Before it leaves its CPU it may have the state of one that sleeps. */
static __always_inline bool is_on_cpu(struct task_struct *task)
{
	return bpf_core_field_exists(task->on_cpu) && BPF_CORE_READ(task, on_cpu);
}

/* Where a kernel does not say it is neither this nor on a CPU. */
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

/* Whether this kernel says which sleeps are for I/O. */
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
