// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who is a target: kept up to date in the kernel, at the moment a process forks, execs or exits, so
 * that a child that lives for five milliseconds is covered from its first instruction.
 */
#include "maps.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "task.bpf.h"

struct pa_proc_stats proc_stats = {};

/* A short record that wakes the agent up at once: what it is about may be gone in a moment. */
static __always_inline void notify(u32 type, u32 pid)
{
	struct pa_record rec = { .type = type, .pid = pid, .time_ns = bpf_ktime_get_ns() };

	if (bpf_ringbuf_output(&ring, &rec, sizeof(rec), BPF_RB_FORCE_WAKEUP))
		__sync_fetch_and_add(&proc_stats.notices_lost, 1);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(pa_fork, struct task_struct *parent, struct task_struct *child)
{
	u32 pid, on = PA_TARGET_ON;

	if (cfg.all || !cfg.follow_children)
		return 0;
	if (BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid))
		return 0; /* a thread: its process is a target already, or not */
	if (!is_target(task_pid(parent)))
		return 0;
	pid = task_pid(child);
	if (bpf_map_update_elem(&targets, &pid, &on, BPF_ANY))
		__sync_fetch_and_add(&proc_stats.targets_lost, 1);
	else
		__sync_fetch_and_add(&proc_stats.nr_targets, 1);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(pa_exec, struct task_struct *task)
{
	u32 pid = task_pid(task);
	u32 *state;

	if (!pid)
		return 0;
	if (!cfg.all) {
		state = bpf_map_lookup_elem(&targets, &pid);
		if (!state)
			return 0;
		*state = PA_TARGET_ON;
	}
	notify(PA_RECORD_EXEC, pid);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(pa_exit, struct task_struct *task)
{
	u32 pid;

	if (cfg.all || BPF_CORE_READ(task, signal, live.counter) != 0)
		return 0; /* other threads of the process live on */
	pid = task_pid(task);
	if (bpf_map_delete_elem(&targets, &pid))
		return 0; /* no target */
	if (__sync_fetch_and_sub(&proc_stats.nr_targets, 1) == 1)
		notify(PA_RECORD_LAST_EXIT, pid);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
