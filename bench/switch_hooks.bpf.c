// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What it costs to be called at every context switch, and to find what is known of both tasks: as a raw
 * tracepoint and as a BTF tracepoint, by a hash and by task storage. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define MAX_THREADS 65536

__u64 nr_switches;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_THREADS);
	__type(key, __u64); /* struct task_struct * */
	__type(value, __u64);
} hash SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} storage SEC(".maps");

static __always_inline void note_in_hash(__u64 task, __u64 now)
{
	__u64 *since = bpf_map_lookup_elem(&hash, &task);

	if (since)
		*since = now;
	else
		bpf_map_update_elem(&hash, &task, &now, BPF_NOEXIST);
}

static __always_inline void note_in_storage(struct task_struct *task, __u64 now)
{
	__u64 *since = bpf_task_storage_get(&storage, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (since)
		*since = now;
}

SEC("raw_tp/sched_switch")
int BPF_PROG(raw_empty, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	nr_switches++;
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(btf_empty, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	nr_switches++;
	return 0;
}

SEC("raw_tp/sched_switch")
int BPF_PROG(raw_hash, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u64 now = bpf_ktime_get_ns();

	note_in_hash((__u64)prev, now);
	note_in_hash((__u64)next, now);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(btf_hash, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u64 now = bpf_ktime_get_ns();

	note_in_hash((__u64)prev, now);
	note_in_hash((__u64)next, now);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(btf_storage, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u64 now = bpf_ktime_get_ns();

	note_in_storage(prev, now);
	note_in_storage(next, now);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
