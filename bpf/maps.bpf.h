/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The maps and variables that the programs share. Maps are weak: every file that includes this brings
 * the definition along, and the linker keeps one. */
#ifndef BPF_MAPS_BPF_H
#define BPF_MAPS_BPF_H

#include "abi.h"

#include <bpf/bpf_helpers.h>

#include "walk_state.h"

/* oncpu.bpf.c */
extern const volatile struct pa_config cfg;

/* procmon.bpf.c; in a section of its own, which user space maps and reads. */
extern struct pa_proc_stats proc_stats;

/*
 * A sample while it is put together: too big for the 512-byte stack. One per CPU is enough: the
 * kernel never runs a second program of this kind on a CPU while one is running there.
 */
struct pa_scratch {
	struct pa_walk walk;
	union {
		struct pa_sample sample;
		char bytes[sizeof(struct pa_sample) + PA_PCS_SLOTS * sizeof(__u64)];
	};
};

struct pa_scratch_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pa_scratch);
};

/* Sized by user space from rate, CPUs and drain interval. */
struct pa_ring_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

/* Preallocated, since perf_event programs of old kernels accept no other hash. User space shrinks
 * it to one entry when the whole machine is the target. */
#define PA_MAX_TARGETS 32768
struct pa_target_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PA_MAX_TARGETS);
	__type(key, __u32);   /* pid */
	__type(value, __u32); /* enum pa_target_state */
};

struct pa_stats_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pa_tick_stats);
};

struct pa_scratch_map scratch SEC(".maps") __weak;
struct pa_stats_map tick_stats SEC(".maps") __weak;
struct pa_ring_map ring SEC(".maps") __weak;
struct pa_target_map targets SEC(".maps") __weak;

#endif
