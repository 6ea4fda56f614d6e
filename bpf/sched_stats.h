/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the scheduler statistics of the kernel side look like, for both sides. */
#ifndef BPF_SCHED_STATS_H
#define BPF_SCHED_STATS_H

#include "abi.h"
#include "buckets.h"

/* Why a task left its CPU. */
enum pa_switch_reason {
	PA_SWITCH_PREEMPTED = 0, /* it could have gone on; it yielded, too */
	PA_SWITCH_VOLUNTARY = 1, /* any sleep that is not for I/O */
	PA_SWITCH_IO_WAIT =
		2, /* an uninterruptible sleep, and the kernel says that it is for I/O */
	PA_SWITCH_STOPPED = 3, /* by a signal or a tracer */
	PA_SWITCH_EXITED = 4,
	PA_NR_SWITCH_REASONS
};

enum pa_counter_kind {
	PA_COUNTER_CYCLES = 0,
	PA_COUNTER_INSTRUCTIONS = 1,
	PA_COUNTER_CACHE_MISSES = 2,
	PA_NR_COUNTERS
};

/* A reading of a counter, or the sum of the differences between two: what was counted, for how long the
 * event was enabled, and for how long it really had a counter (there are fewer than events). */
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
	__u64 open_ns; /* on a CPU in slices that had begun before the capture, or went on after it */
	struct pa_counter_sum counters[PA_NR_COUNTERS];
	char comm[PA_COMM_SIZE]; /* of a process: its first thread's name */
	__u64 has_ended;         /* of a process: user space knows of it */
};
_Static_assert(sizeof(struct pa_sched_stats) == 13216, "changed: bump PA_ABI_VERSION");

/* A number that is used again belongs to another process. */
struct pa_sched_key {
	__u64 start_time; /* of its first thread, by the kernel's clock */
	__u32 pid;
	__u32 pad;
};
_Static_assert(sizeof(struct pa_sched_key) == 16, "changed: bump PA_ABI_VERSION");

/* One per CPU. Every context switch adds one to `switches` and to exactly one of the five that follow. */
struct pa_sched_counts {
	__u64 switches;
	__u64 idle;
	__u64 own;      /* the agent's */
	__u64 other;    /* not a target */
	__u64 outside;  /* no PID in the agent's namespace */
	__u64 recorded; /* a target */
	__u64 waits_lost; /* waits for a CPU whose begin was not seen, or found the map of threads full */
	__u64 unlisted; /* of recorded: no room for the process; they count for all processes together */
	__u64 uncounted; /* slices whose hardware counters could not be read */
	__u64 unseen; /* slices without a length: the kernel did not run the program when they began */
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
#define PA_MAX_SCHED_PROCESSES 2048 /* 13 KiB each; at a time, and in the list */

#endif
