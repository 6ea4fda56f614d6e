// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Keeps the targets up to date in the kernel, at the moment a process forks, execs or exits, so
 * that a child that lives for five milliseconds is covered from its first instruction. Raw
 * tracepoints instead of tp_btf, for which libbpf would read all of the kernel's types at every
 * start.
 */
#include "maps.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "mappings.bpf.h"
#include "task.bpf.h"

#define ADDR_ERROR (1ul << 63) /* anything above is a negative errno */
#define MAX_INVALIDATED 8      /* mappings at once; if there are more, all of the process's */

struct pa_proc_stats proc_stats SEC(PA_SHARED) = {};

/* A child has a copy of its parent's memory: the parent's list of mappings applies to it. */
static __always_inline void share_mappings(u32 parent, u32 child)
{
	struct pa_process *p;

	if (!cfg.use_tables)
		return;
	p = bpf_map_lookup_elem(&processes, &parent);
	if (p)
		bpf_map_update_elem(
			&processes, &child, p,
			BPF_ANY); /* the map is full: the child's mappings are unknown */
	else
		bpf_map_delete_elem(&processes,
				    &child); /* left over from an earlier process with that PID */
}

static __always_inline void forget_mappings(u32 pid)
{
	if (cfg.use_tables)
		bpf_map_delete_elem(&processes, &pid);
}

/* The key of a task in the target map. */
static __always_inline u32 target_id(struct task_struct *task)
{
	return cfg.select == PA_SELECT_TIDS ? task_tid(task) : task_pid(task);
}

static __always_inline void add_target(u32 pid)
{
	u32 on = PA_TARGET_ON | (proc_stats.counts_cpu ? PA_TARGET_CPU : 0);

	if (!bpf_map_update_elem(&targets, &pid, &on, BPF_NOEXIST))
		__sync_fetch_and_add(&proc_stats.nr_targets, 1);
	else if (bpf_map_update_elem(&targets, &pid, &on,
				     BPF_EXIST)) /* existing entries are counted already */
		__sync_fetch_and_add(&proc_stats.targets_lost, 1);
}

/* Removes a former target with the same ID. It is gone by now, even if no exit was reported,
 * because it was added to the map after its exit had begun. */
static __always_inline void forget_target(u32 id)
{
	bpf_map_delete_elem(&exiting, &id);
	if (!bpf_map_delete_elem(&targets, &id))
		__sync_fetch_and_add(&proc_stats.nr_targets, -1);
}

SEC("raw_tp/sched_process_fork")
int BPF_PROG(pa_fork, struct task_struct *parent, struct task_struct *child)
{
	u32 ppid, pid;

	if (cfg.select == PA_SELECT_TIDS) {
		forget_target(
			task_tid(child)); /* new threads are not targets unless they are listed */
		return 0;
	}
	if (BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid))
		return 0; /* a thread: its process is a target already, or not */
	ppid = task_pid(parent);
	pid = task_pid(child);
	if (has_target_list())
		forget_target(pid);
	if (!pid || (has_target_list() && (!cfg.follow_children || !is_listed(ppid))))
		return 0;
	share_mappings(ppid, pid);
	if (has_target_list())
		add_target(pid);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int BPF_PROG(pa_exec, struct task_struct *task)
{
	u32 pid = task_pid(task), id;
	u32 *state;

	if (!pid)
		return 0;
	forget_mappings(pid);
	if (has_target_list()) {
		id = target_id(task);
		state = bpf_map_lookup_elem(&targets, &id);
		/* A thread that calls execve() takes over the TID of the first thread, which is
		 * gone. */
		if (!state && cfg.select == PA_SELECT_TIDS)
			bpf_map_delete_elem(&exiting, &id);
		if (!state)
			return 0;
		*state = PA_TARGET_ON | (*state & PA_TARGET_CPU);
	} else if (!is_target(pid)) {
		return 0;
	}
	pa_notify(PA_RECORD_EXEC, pid);
	return 0;
}

/* Marks the published mappings in [start, end) as invalid. A parent or child that shares the list
 * loses those entries too; user space repairs that. */
static __always_inline void invalidate(struct pa_process *p, u32 pid, u64 start, u64 end)
{
	u32 nr = pa_find_mapping_nr(p, end - 1);

	for (int i = 0; i < MAX_INVALIDATED; i++) {
		struct pa_mapping *m = pa_mapping_nr(p, nr--); /* there is none below the first */

		if (!m || m->generation != p->generation || m->start >= end || m->end <= start)
			return;
		m->generation = 0;
		/* an epoch that parent and children, which share the generation, do not have */
		p->epoch = bpf_get_prandom_u32();
	}
	bpf_map_delete_elem(&processes, &pid);
}

/*
 * The kernel has found a free address range for a mapping. No event reports that code was unmapped,
 * so if the walker still knows code in that range, this is the first sign that it is gone: a
 * library that is mapped there next must not be unwound by the previous one's table, not even until
 * user space has been notified.
 */
SEC("raw_tp/vm_unmapped_area")
int BPF_PROG(pa_mmap, unsigned long addr, struct vm_unmapped_area_info *info)
{
	u32 pid;
	struct pa_process *p;

	if (!cfg.use_tables || addr >= ADDR_ERROR)
		return 0;
	pid = task_pid((void *)bpf_get_current_task());
	p = bpf_map_lookup_elem(&processes, &pid);
	if (p)
		invalidate(p, pid, addr, addr + BPF_CORE_READ(info, length));
	return 0;
}

/* id: the key of the task in the target map. */
static __always_inline void await_free(struct task_struct *task, u32 id)
{
	u64 last = cfg.select == PA_SELECT_TIDS ? (u64)task
						: (u64)BPF_CORE_READ(task, group_leader);

	if (bpf_map_update_elem(&ended, &last, &id, BPF_ANY))
		__sync_fetch_and_add(&proc_stats.ended_lost, 1);
}

SEC("raw_tp/sched_process_exit")
int BPF_PROG(pa_exit, struct task_struct *task)
{
	bool is_last = BPF_CORE_READ(task, signal, live.counter) == 0;
	u32 pid, id, yes = 1, *state;

	if (!is_last && cfg.select != PA_SELECT_TIDS)
		return 0; /* other threads of the process live on */
	pid = task_pid(task);
	if (!pid)
		return 0;
	if (is_last)
		forget_mappings(pid);
	id = target_id(task);
	state = bpf_map_lookup_elem(&targets, &id);
	if (!has_target_list() || bpf_map_delete_elem(&targets, &id))
		return 0; /* not a listed target */
	bpf_map_update_elem(&exiting, &id, &yes, BPF_ANY);
	/* Read after the deletion: user space can no longer change it. */
	if (state && *(volatile u32 *)state & PA_TARGET_CPU)
		await_free(task, id);
	/* The result is not used: kernels before 5.12 have no atomic addition that returns one. */
	__sync_fetch_and_add(&proc_stats.nr_targets, -1);
	if (!proc_stats.nr_targets)
		pa_notify(PA_RECORD_LAST_EXIT, pid);
	return 0;
}

/* The first thread of a process is freed last, and the sum then holds the CPU time of all threads
 * up to their very end. At exit, the current time slice and the teardown of the address space would
 * be missing. */
SEC("raw_tp/sched_process_free")
int BPF_PROG(pa_free, struct task_struct *task)
{
	u64 last = (u64)task, ns;

	if (bpf_map_delete_elem(&ended, &last))
		return 0;
	ns = cfg.select == PA_SELECT_TIDS ? BPF_CORE_READ(task, se.sum_exec_runtime)
					  : BPF_CORE_READ(task, signal, sum_sched_runtime);
	__sync_fetch_and_add(&proc_stats.ended_cpu_ns, ns);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
