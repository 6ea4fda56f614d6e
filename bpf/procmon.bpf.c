// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who is a target: kept up to date in the kernel, at the moment a process forks, execs or exits, so
 * that a child that lives for five milliseconds is covered from its first instruction. Raw
 * tracepoints and not tp_btf: for those libbpf reads all of the kernel's types at every start.
 */
#include "maps.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "mappings.bpf.h"
#include "task.bpf.h"

#define ADDR_ERROR (1ul << 63) /* what is above is a negative errno */
#define MAX_INVALIDATED 8      /* mappings at once; more: all of the process's */

struct pa_proc_stats proc_stats = {};

/* A child has its parent's memory: what is known of one's mappings holds for the other. */
static __always_inline void share_mappings(u32 parent, u32 child)
{
	struct pa_process *p;

	if (!cfg.use_tables)
		return;
	p = bpf_map_lookup_elem(&processes, &parent);
	if (p)
		bpf_map_update_elem(&processes, &child, p, BPF_ANY); /* full: it is unknown then */
	else
		bpf_map_delete_elem(&processes, &child); /* left over from an earlier owner */
}

static __always_inline void forget_mappings(u32 pid)
{
	if (cfg.use_tables)
		bpf_map_delete_elem(&processes, &pid);
}

static __always_inline void add_target(u32 pid)
{
	u32 on = PA_TARGET_ON;

	if (!bpf_map_update_elem(&targets, &pid, &on, BPF_NOEXIST))
		__sync_fetch_and_add(&proc_stats.nr_targets, 1);
	else if (bpf_map_update_elem(&targets, &pid, &on, BPF_EXIST)) /* counted before */
		__sync_fetch_and_add(&proc_stats.targets_lost, 1);
}

/* Who had the number before: gone by now, also where nobody has said so, because it was made a target
 * when its exit had begun. */
static __always_inline void forget_target(u32 pid)
{
	bpf_map_delete_elem(&exiting, &pid);
	if (!bpf_map_delete_elem(&targets, &pid))
		__sync_fetch_and_add(&proc_stats.nr_targets, -1);
}

SEC("raw_tp/sched_process_fork")
int BPF_PROG(pa_fork, struct task_struct *parent, struct task_struct *child)
{
	u32 ppid, pid;

	if (BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid))
		return 0; /* a thread: its process is a target already, or not */
	ppid = task_pid(parent);
	pid = task_pid(child);
	if (!cfg.all)
		forget_target(pid);
	if (!pid || !is_target(ppid))
		return 0;
	if (!cfg.all && !cfg.follow_children)
		return 0;
	share_mappings(ppid, pid);
	if (!cfg.all)
		add_target(pid);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int BPF_PROG(pa_exec, struct task_struct *task)
{
	u32 pid = task_pid(task);
	u32 *state;

	if (!pid)
		return 0;
	forget_mappings(pid);
	if (!cfg.all) {
		state = bpf_map_lookup_elem(&targets, &pid);
		if (!state)
			return 0;
		*state = PA_TARGET_ON;
	}
	pa_notify(PA_RECORD_EXEC, pid);
	return 0;
}

/* What the walker knows of [start, end) does not hold any more. Whoever shares the list, a parent or
 * a child, loses that entry too, which user space makes good. */
static __always_inline void invalidate(struct pa_process *p, u32 pid, u64 start, u64 end)
{
	u32 nr = pa_find_mapping_nr(p, end - 1);

	for (int i = 0; i < MAX_INVALIDATED; i++) {
		struct pa_mapping *m = pa_mapping_nr(p, nr--); /* below the first there is none */

		if (!m || m->generation != p->generation || m->start >= end || m->end <= start)
			return;
		m->generation = 0;
		/* one that its parent and its children, with whom it shares generation, do not have */
		p->epoch = bpf_get_prandom_u32();
	}
	bpf_map_delete_elem(&processes, &pid);
}

/*
 * The kernel has found a free place for a mapping. Nobody tells when code is unmapped, so where the
 * walker still knows code in that place, this is the first sign that it is gone: a library that is
 * mapped there next must not be walked by the table of the one before, not even until user space has
 * heard of it.
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

SEC("raw_tp/sched_process_exit")
int BPF_PROG(pa_exit, struct task_struct *task)
{
	u32 pid, yes = 1;

	if (BPF_CORE_READ(task, signal, live.counter) != 0)
		return 0; /* other threads of the process live on */
	pid = task_pid(task);
	if (!pid)
		return 0;
	forget_mappings(pid);
	if (cfg.all || bpf_map_delete_elem(&targets, &pid))
		return 0; /* no target */
	bpf_map_update_elem(&exiting, &pid, &yes, BPF_ANY);
	/* Without its result: kernels before 5.12 know no other atomic addition. */
	__sync_fetch_and_add(&proc_stats.nr_targets, -1);
	if (!proc_stats.nr_targets)
		pa_notify(PA_RECORD_LAST_EXIT, pid);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
