/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Facts about a task: its IDs as the agent sees them, whether it is a target. */
#ifndef BPF_TASK_BPF_H
#define BPF_TASK_BPF_H

#include "maps.bpf.h"

#include <bpf/bpf_core_read.h>

#include "compat.bpf.h"

#define MAX_PID_NS_LEVEL 32 /* include/linux/pid_namespace.h: the kernel nests no deeper */

/*
 * The ID of a pid in the agent's namespace, or 0 if it has none there. A pid has one ID per
 * namespace, from the initial one (level 0) down to its own. The kernel's helper for this works
 * only if the task's own namespace is the one asked for, so not for containers.
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

/* The PID of a task's process; 0 outside the agent's namespace. */
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

/* The PID of the current task, for which the kernel's own numbers are cheap to read. */
static __always_inline u32 current_pid(void)
{
	struct task_struct *first;

	if (cfg.pidns_is_initial)
		return (u32)(bpf_get_current_pid_tgid() >> 32);
	first = CURRENT(group_leader);
	return pid_number(BPF_CORE_READ(first, thread_pid));
}

static __always_inline u32 current_tid(void)
{
	if (cfg.pidns_is_initial)
		return (u32)bpf_get_current_pid_tgid();
	return pid_number(CURRENT(thread_pid));
}

/* True if targets are listed in the target map. */
static __always_inline bool has_target_list(void)
{
	u32 select = cfg.select; /* read once: each use of a volatile variable is a load */

	return select == PA_SELECT_PIDS || select == PA_SELECT_TIDS;
}

/* id: a PID; a TID for PA_SELECT_TIDS. */
static __always_inline bool is_listed(u32 id)
{
	u32 *state = bpf_map_lookup_elem(&targets, &id);

	return state && (*state & ~PA_TARGET_CPU) == PA_TARGET_ON;
}

#define PF_EXITING 0x4 /* include/linux/sched.h */

/* Whether the current task was listed until it exited, or until the last thread of its process
 * did. */
static __always_inline bool is_exiting_target(u32 id)
{
	return (CURRENT(flags) & PF_EXITING) && bpf_map_lookup_elem(&exiting, &id);
}

/* Whether exit has released the address space. The verifier searches all of the kernel's types several times for each
 * pointer that it sees loaded from a task (0.3 ms each, Linux 6.18), so this one is copied, which is seldom needed. */
static __always_inline bool is_without_memory(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return (CURRENT(flags) & PF_EXITING) && !BPF_CORE_READ(task, mm);
}

static __always_inline u32 current_euid(void)
{
	const struct cred *cred = CURRENT(real_cred);

	return BPF_CORE_READ(cred, euid.val);
}

/* Whether the current task, whose process is pid, is a target. Loading the program removes all ways
 * to decide but one. */
static __always_inline bool is_target(u32 pid)
{
	u32 id = pid, select = cfg.select;

	if (select == PA_SELECT_ALL)
		return true;
	if (select == PA_SELECT_USER)
		return current_euid() == cfg.uid;
	if (select == PA_SELECT_CGROUP)
		return bpf_current_task_under_cgroup(&selected_cgroup, 0) == 1;
	if (select == PA_SELECT_TIDS)
		id = current_tid();
	return is_listed(id) || is_exiting_target(id);
}

/* Whether any task is a target; cheap enough for every event. False for cgroups, which are compared
 * only for the current task, where that is cheap. */
static __always_inline bool is_target_task(struct task_struct *task, u32 pid)
{
	u32 select = cfg.select;

	if (select == PA_SELECT_ALL)
		return true;
	if (select == PA_SELECT_USER)
		return BPF_CORE_READ(task, real_cred, euid.val) == cfg.uid;
	if (select == PA_SELECT_TIDS)
		return is_listed(task_tid(task));
	return select == PA_SELECT_PIDS && is_listed(pid);
}

/* Whether a task is in the selected cgroup or below it. The kernel's helper for this works only for
 * the current task. Cgroups are nested less deeply than MAX_CGROUP_DEPTH. */
#define MAX_CGROUP_DEPTH 64
static __always_inline bool is_in_cgroup(struct task_struct *task)
{
	char *cgroup = (char *)BPF_CORE_READ(task, cgroups, dfl_cgrp);

	for (u32 i = 0; i < MAX_CGROUP_DEPTH; i++) {
		struct cgroup *at = (struct cgroup *)cgroup;

		if (BPF_CORE_READ(at, kn, id) == cfg.cgroup_id)
			return true;
		cgroup = (char *)BPF_CORE_READ(at, self.parent);
		if (!cgroup)
			return false;
		cgroup -= bpf_core_field_offset(struct cgroup, self);
	}
	return false;
}

/* Whether any task is a target, for every way to select targets: for programs that run once per
 * task. */
static __always_inline bool is_member_task(struct task_struct *task, u32 pid)
{
	return cfg.select == PA_SELECT_CGROUP ? is_in_cgroup(task) : is_target_task(task, pid);
}

/* A helper process of the agent that reads for it (src/proc/reader.c): a child, or a child's child,
 * that does not signal its parent at exit. A profiled command is a child as well, but does signal
 * its exit. */
static __always_inline bool is_helper(struct task_struct *task, u32 own_pid)
{
	struct task_struct *first = BPF_CORE_READ(task, group_leader);
	struct task_struct *parent = BPF_CORE_READ(first, real_parent);

	if (BPF_CORE_READ(first, exit_signal))
		return false;
	return task_pid(parent) == own_pid ||
	       task_pid(BPF_CORE_READ(parent, real_parent)) == own_pid;
}

/* A short record that wakes the agent up at once: its subject may be gone in a moment. */
static __always_inline void pa_notify(u32 type, u32 pid)
{
	struct pa_record rec = { .type = type, .pid = pid, .time_ns = bpf_ktime_get_ns() };

	if (bpf_ringbuf_output(&ring, &rec, sizeof(rec), BPF_RB_FORCE_WAKEUP))
		__sync_fetch_and_add(&proc_stats.notices_lost, 1);
}

/* Asks user space to read this process now, since it may be gone soon. */
static __always_inline void pa_wake(u32 pid)
{
	pa_notify(PA_RECORD_NOTICE, pid);
}

#endif
