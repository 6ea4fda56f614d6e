/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs ask of a task: its numbers as the agent sees them, whether it is a target. */
#ifndef BPF_TASK_BPF_H
#define BPF_TASK_BPF_H

#include "maps.bpf.h"

#include <bpf/bpf_core_read.h>

#define MAX_PID_NS_LEVEL 32 /* include/linux/pid_namespace.h: the kernel nests no deeper */

/*
 * The number of a pid in the agent's namespace, or 0 when it has none there. A pid has one number
 * per namespace from the initial one (level 0) down to its own. The kernel's helper of that name
 * answers only for tasks whose own namespace it is, that is for no container.
 */
static __always_inline u32 pid_number(struct pid *pid)
{
	u32 level = BPF_CORE_READ(pid, level);
	char *numbers = (char *)pid + bpf_core_field_offset(struct pid, numbers);

	for (u32 i = 0; i < MAX_PID_NS_LEVEL; i++) {
		struct upid *at = (void *)(numbers + i * bpf_core_type_size(struct upid));

		if (i > level)
			return 0;
		if (BPF_CORE_READ(at, ns, ns.inum) == cfg.pidns_inum)
			return BPF_CORE_READ(at, nr);
	}
	return 0;
}

/* The PID of a task's process, and its own number; 0 outside of the agent's namespace. */
static __always_inline u32 task_pid(struct task_struct *task)
{
	if (cfg.pidns_is_initial)
		return BPF_CORE_READ(task, tgid);
	return pid_number(BPF_CORE_READ(task, group_leader, thread_pid));
}

static __always_inline u32 task_tid(struct task_struct *task)
{
	if (cfg.pidns_is_initial)
		return BPF_CORE_READ(task, pid);
	return pid_number(BPF_CORE_READ(task, thread_pid));
}

static __always_inline bool is_target(u32 pid)
{
	u32 *state;

	if (cfg.all)
		return true;
	state = bpf_map_lookup_elem(&targets, &pid);
	return state && *state == PA_TARGET_ON;
}

#define PF_EXITING 0x4 /* include/linux/sched.h */

/* Whether it was one until it began to exit. */
static __always_inline bool is_exiting_target(struct task_struct *task, u32 pid)
{
	return (BPF_CORE_READ(task, flags) & PF_EXITING) && bpf_map_lookup_elem(&exiting, &pid);
}

/* A short record that wakes the agent up at once: what it is about may be gone in a moment. */
static __always_inline void pa_notify(u32 type, u32 pid)
{
	struct pa_record rec = { .type = type, .pid = pid, .time_ns = bpf_ktime_get_ns() };

	if (bpf_ringbuf_output(&ring, &rec, sizeof(rec), BPF_RB_FORCE_WAKEUP))
		__sync_fetch_and_add(&proc_stats.notices_lost, 1);
}

/* Have a look at this process now, it may be gone soon. */
static __always_inline void pa_wake(u32 pid)
{
	pa_notify(PA_RECORD_NOTICE, pid);
}

#endif
