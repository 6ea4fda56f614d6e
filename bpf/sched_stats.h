/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The data of the scheduler statistics, shared between kernel and user space. */
#ifndef BPF_SCHED_STATS_H
#define BPF_SCHED_STATS_H

#include "abi.h"
#include "buckets.h"

/* Why a task left its CPU. */
enum pa_switch_reason {
	PA_SWITCH_PREEMPTED = 0, /* the task was still runnable; includes yielding */
	PA_SWITCH_VOLUNTARY = 1, /* any sleep that is not for I/O */
	PA_SWITCH_IO_WAIT = 2,   /* an uninterruptible sleep that the kernel marks as for I/O */
	PA_SWITCH_STOPPED = 3,   /* by a signal or a tracer */
	PA_SWITCH_EXITED = 4,
	PA_NR_SWITCH_REASONS
};

enum pa_counter_kind {
	PA_COUNTER_CYCLES = 0,
	PA_COUNTER_INSTRUCTIONS = 1,
	PA_COUNTER_CACHE_MISSES = 2,
	PA_NR_COUNTERS
};

/* A counter reading, or the sum of differences between readings: the value, how long the event was
 * enabled, and how long it was on a hardware counter (there are fewer of those than events). */
struct pa_counter_sum {
	__u64 value;
	__u64 enabled_ns;
	__u64 running_ns;
};

/* Of one process, or of everything on one CPU. */
struct pa_sched_stats {
	struct pa_histogram on_cpu;    /* from being switched in to being switched out */
	struct pa_histogram run_queue; /* from being woken up, or preempted, to being switched in */
	__u64 reasons[PA_NR_SWITCH_REASONS];
	__u64 open_ns; /* time on a CPU in slices that began before the capture or outlasted it */
	struct pa_counter_sum counters[PA_NR_COUNTERS];
	char comm[PA_COMM_SIZE]; /* of a process: the name of its first thread */
	__u64 has_ended;         /* of a process: it is in the queue of ended ones */
};
_Static_assert(sizeof(struct pa_sched_stats) == 13216, "changed: bump PA_ABI_VERSION");

/* The start time tells apart processes that had the same PID. */
struct pa_sched_key {
	__u64 start_time; /* of its first thread, by the kernel's clock */
	__u32 pid;
	__u32 pad;
};
_Static_assert(sizeof(struct pa_sched_key) == 16, "changed: bump PA_ABI_VERSION");

/* One per CPU. Every context switch adds one to `switches` and to exactly one of the five counters
 * that follow it. */
struct pa_sched_counts {
	__u64 switches;
	__u64 idle;
	__u64 own;      /* the task was the agent */
	__u64 other;    /* not a target */
	__u64 outside;  /* no PID in the agent's namespace */
	__u64 recorded; /* a target */
	/* waits for a CPU whose begin was not seen, or whose thread found the map full */
	__u64 waits_lost;
	__u64 unlisted;  /* of `recorded`: counted for all processes together, for lack of room */
	__u64 uncounted; /* slices whose hardware counters could not be read, or stood still */
	/* slices of unknown length: the kernel did not run the program when they began */
	__u64 unseen;
};
_Static_assert(sizeof(struct pa_sched_counts) == 80, "changed: bump PA_ABI_VERSION");

/* Fixed before the programs are loaded. */
struct pa_sched_config {
	__u32 own_pid;
	__u8 counters;    /* a bit per enum pa_counter_kind: those that could be opened */
	__u8 per_process; /* otherwise all targets are counted together */
	__u8 pad[2];
};
_Static_assert(sizeof(struct pa_sched_config) == 8, "changed: bump PA_ABI_VERSION");

#define PA_MAX_SCHED_THREADS 65536
#define PA_MAX_SCHED_PROCESSES 2048 /* 13 KiB each; the most in the map and in the queue */

#endif
