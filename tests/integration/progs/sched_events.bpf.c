// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Every context switch and wake-up of a few processes, or all, one by one: what statistics are checked against. */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "sched_events.h"

const volatile __u32 pids[EVENTS_MAX_PIDS] = {}; /* none: all but idle tasks */
__u64 nr_lost;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
} events SEC(".maps");

static __always_inline void record(struct task_struct *task, __u32 kind, __u64 now)
{
	__u32 pid = BPF_CORE_READ(task, tgid);
	struct sched_event e = { .time_ns = now,
				 .tid = BPF_CORE_READ(task, pid),
				 .pid = pid,
				 .kind = kind,
				 .cpu = bpf_get_smp_processor_id() };
	bool is_asked_for = !pids[0];

	for (int i = 0; i < EVENTS_MAX_PIDS; i++)
		is_asked_for |= pids[i] == pid;
	if (pid && is_asked_for && bpf_ringbuf_output(&events, &e, sizeof(e), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&nr_lost, 1);
}

SEC("raw_tp/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 state = BPF_CORE_READ(prev, __state);

	record(prev, preempt || !state ? EVENT_PREEMPTED : EVENT_LEFT, now);
	record(next, EVENT_RUNS, now);
	return 0;
}

SEC("raw_tp/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	record(task, EVENT_WOKEN, bpf_ktime_get_ns());
	return 0;
}

SEC("raw_tp/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	record(task, EVENT_WOKEN, bpf_ktime_get_ns());
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
