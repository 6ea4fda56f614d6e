/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The maps and variables that the programs share. Maps are weak: every file that includes this
 * contains the definition, and the linker keeps one. */
#ifndef BPF_MAPS_BPF_H
#define BPF_MAPS_BPF_H

#include "abi.h"

#include <bpf/bpf_helpers.h>

#include "wait.h"
#include "walk_state.h"

/* defined in oncpu.bpf.c */
extern const volatile struct pa_config cfg;

/* Defined in procmon.bpf.c, in a section of its own, which user space maps and reads. */
extern struct pa_proc_stats proc_stats;

/*
 * A sample being assembled: too big for the 512-byte stack. A tracepoint's program may be
 * interrupted by another sample, and that one by an NMI: each nesting level has its own scratch.
 * Programs run with preemption off, so that an interrupting one finishes before the other
 * continues.
 */
struct pa_scratch {
	__u32 nesting;   /* only in the scratch of the first level: how many are in use */
	__u32 nr_taken;  /* samples taken at this level */
	__u32 at, limit; /* in `words`: the walker's next word, and the end */
	struct pa_walk walk;
	__u64 woken_ns; /* when user space was last woken up */
	__u64 wait_id;  /* the hash that identifies a stack to be summed up; see offcpu.bpf.c */
	struct pa_wait new_wait; /* value of a new entry of the map of sums: all 0 except `check` */
	union {
		struct pa_sample sample;
		struct {
			char header[sizeof(struct pa_sample)];
			__u64 words[PA_WORD_SLOTS];
			struct pa_stack_regs room;
		};
	};
};

#define PA_SCRATCH_RECORD_BYTES                                                                    \
	(sizeof(struct pa_sample) + PA_WORD_SLOTS * sizeof(__u64) + sizeof(struct pa_stack_regs))

/* A page of a stack to be sent, and the position in a stack that may consist of two parts. */
struct pa_page_scratch {
	__u64 at, end;              /* the next page, and the end; 0: unknown */
	__u64 alt_start, alt_bytes; /* the alternate signal stack, if sp lies on it; otherwise 0 */
	__u64 other, other_end; /* the next page and the end of the stack that was left; 0: none */
	__u32 stop;        /* enum pa_stop of a walk that runs into the end of the copied part */
	__u32 stop_at_end; /* enum pa_stop of a walk that reaches the end of the stack */
	union {
		struct pa_stack_page page;
		char record[sizeof(struct pa_stack_page) + PA_STACK_PAGE_BYTES];
	};
};

struct pa_page_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PA_MAX_NESTING);
	__type(key, __u32);
	__type(value, struct pa_page_scratch);
};

struct pa_scratch_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PA_MAX_NESTING);
	__type(key, __u32);
	__type(value, struct pa_scratch);
};

/* Sized by user space from rate, CPUs and drain interval. */
struct pa_ring_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

/* Preallocated, since perf_event programs of old kernels accept no other hash. User space shrinks
 * it to one entry where targets are not listed (enum pa_select). */
#define PA_MAX_TARGETS 32768
struct pa_target_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PA_MAX_TARGETS);
	__type(key, __u32);   /* pid; tid for PA_SELECT_TIDS */
	__type(value, __u32); /* enum pa_target_state */
};

/* Targets that have entered exit. Since 6.16 sched_process_exit fires before the address space is
 * torn down, and the time for that still belongs to the target. No event marks the end of the
 * teardown, hence LRU. */
#define PA_MAX_EXITING 4096
struct pa_exiting_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PA_MAX_EXITING);
	__type(key, __u32); /* as in the target map */
	__type(value, __u32);
};

/* The cgroup of PA_SELECT_CGROUP. Not created otherwise. */
struct pa_cgroup_map {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32); /* a descriptor, as user space writes it */
};

/* Targets that have exited, until the kernel frees them: only then is their CPU time complete. A
 * process is represented by its first thread, since a freed task has no PID any more. */
#define PA_MAX_ENDED 8192
struct pa_ended_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PA_MAX_ENDED);
	__type(key, __u64);   /* struct task_struct * */
	__type(value, __u32); /* pid; tid for PA_SELECT_TIDS */
};

struct pa_stats_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pa_tick_stats);
};

/*
 * Rows are stored in shards. A shard is one big element of an array that user space maps and
 * writes, and is created on demand. The rows of a block are in one shard.
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

/* By index into the directory: the start of a block's rows (shard * PA_SHARD_ROWS + row), and their
 * number. */
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

/* The mappings of all processes, those of one process contiguous. Sized by user space. */
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

/*
 * Rules of pcs that walks on this CPU have met, one cache per CPU, so that no CPU waits: 93 to 98 %
 * of lookups repeat a recent one. Rules are kept in the order in which walks met them: the callers
 * of a frame are mostly the callers it had before, so that their rules lie one after the other and a
 * deep walk reads a few cache lines in sequence instead of one for each frame, spread over many pages.
 */
struct pa_cached_rule {
	__u64 pc;
	__u64 rule;
	__u64 owner; /* generation and epoch of the process; 0: none */
};

struct pa_rule_cache {
	struct pa_cached_rule rules[PA_CACHED_RULES]; /* a ring */
	__u16 index[PA_CACHE_INDEX_SLOTS];            /* by pc: where its rule was put */
	__u32 nr_put;
};

struct pa_cache_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the number of CPUs */
	__type(key, __u32);
	__type(value, struct pa_rule_cache);
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
struct pa_cgroup_map selected_cgroup SEC(".maps") __weak;
struct pa_ended_map ended SEC(".maps") __weak;

#endif
