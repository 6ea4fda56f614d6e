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
	__u64 woken_ns; /* when user space was last asked to hurry */
	union {
		struct pa_sample sample;
		char bytes[sizeof(struct pa_sample) + PA_PCS_SLOTS * sizeof(__u64) +
			   sizeof(struct pa_stack_regs)];
	};
};

/* A page of a stack on its way out, and where the rest of a stack in two pieces is. */
struct pa_page_scratch {
	__u64 at, end;              /* what comes next, where that ends; 0: not known */
	__u64 alt_start, alt_bytes; /* the stack for signal handlers, if sp lies on it; else 0 */
	__u64 other, other_end;     /* the same of the stack that was left for this one; 0: none */
	__u32 stop;                 /* enum pa_stop, of a walk that goes on where the copy ends */
	__u32 stop_at_end;          /* the same if the end is reached */
	union {
		struct pa_stack_page page;
		char record[sizeof(struct pa_stack_page) + PA_STACK_PAGE_BYTES];
	};
};

struct pa_page_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pa_page_scratch);
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

/* Who was a target until it began to exit: taking its memory down is its time as well, and the kernel
 * has said that it is gone before it begins (since 6.16). Nobody says when that is over; so the oldest
 * give way. */
#define PA_MAX_EXITING 4096
struct pa_exiting_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PA_MAX_EXITING);
	__type(key, __u32); /* pid */
	__type(value, __u32);
};

struct pa_stats_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pa_tick_stats);
};

/*
 * Rows live in shards, each one big element of an array that user space maps and writes; a shard is
 * made when it is needed. What the walker finds through the directory lies in one shard, whole.
 */

struct pa_shard {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, PA_SHARD_ROWS * 4);
};

struct pa_shard_map {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, PA_MAX_SHARDS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
	__array(values, struct pa_shard);
};

/* By index into the directory: where a block's rows begin (shard * PA_SHARD_ROWS + row), how many. */
struct pa_block_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pa_block);
};

struct pa_rule_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u64);
};

/* All processes' mappings, each process's in one piece. Sized by user space. */
struct pa_mapping_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pa_mapping);
};

struct pa_process_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PA_MAX_TARGETS);
	__type(key, __u32); /* pid */
	__type(value, struct pa_process);
};

/* pc, generation and epoch to rule, one slice per CPU, so that nobody waits: what is asked again within a
 * moment is 93 to 98 % of all. */
struct pa_cache_slot {
	__u64 pc;
	__u64 rule;
	__u32 generation, epoch; /* of the process */
};

struct pa_cache_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PA_CACHE_SLOTS); /* times the number of CPUs */
	__type(key, __u32);
	__type(value, struct pa_cache_slot);
};

struct pa_page_map page_scratch SEC(".maps") __weak;
struct pa_shard_map shards SEC(".maps") __weak;
struct pa_block_map blocks SEC(".maps") __weak;
struct pa_rule_map rules SEC(".maps") __weak;
struct pa_mapping_map mappings SEC(".maps") __weak;
struct pa_process_map processes SEC(".maps") __weak;
struct pa_cache_map rule_cache SEC(".maps") __weak;
struct pa_scratch_map scratch SEC(".maps") __weak;
struct pa_stats_map tick_stats SEC(".maps") __weak;
struct pa_ring_map ring SEC(".maps") __weak;
struct pa_target_map targets SEC(".maps") __weak;
struct pa_exiting_map exiting SEC(".maps") __weak;

#endif
