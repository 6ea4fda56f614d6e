/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What threads do with their time, by the scheduler's events, for both sides. */
#ifndef BPF_THREAD_TIME_H
#define BPF_THREAD_TIME_H

#include "abi.h"

enum pa_time_state {
	PA_TIME_ON_CPU = 0,
	PA_TIME_RUNNABLE = 1, /* waits for a CPU: woken up, preempted, or new */
	PA_TIME_BLOCKED = 2,  /* waits for anything else, or is stopped */
	PA_NR_TIME_STATES,
	PA_TIME_UNKNOWN = PA_NR_TIME_STATES, /* it has left its CPU, and nobody has said so */
};

/* A thread. Only events of the thread itself change it, and the scheduler's locks order those. */
struct pa_thread_time {
	__u64 begin_ns;              /* from when on it is known what it does */
	__u64 since_ns;              /* begin of `state`; at last the end of the thread */
	__u64 ns[PA_NR_TIME_STATES]; /* states that have ended, and of which both ends are known */
	__u64 run_delay; /* when it was blocked: how long it had waited for CPUs, by the scheduler */
	__u32 pid, tid;
	__u32 nr_missed; /* events that did not come: the state before the next one is in no ns[] */
	__u8 state;      /* enum pa_time_state */
	__u8 pad[3];
};
_Static_assert(sizeof(struct pa_thread_time) == 64, "changed: bump PA_ABI_VERSION");

/* One per CPU. */
struct pa_time_stats {
	__u64 nr_ended;                    /* threads */
	__u64 ended_ns;                    /* from their begin to their end, summed up */
	__u64 ended_in[PA_NR_TIME_STATES]; /* the same of their ns[] */
	__u64 ended_missed;
	__u64 nr_events_no_room; /* of threads for which there was no room */
	__u64 switched_ns;       /* when this CPU last changed tasks; 0: not yet */
	__u64 running;           /* struct task_struct *: the one it changed to; 0: not yet */
	__u64 clock_ns;          /* what to add to the scheduler's clock; 0: unknown */
	__u64 compared_ns;       /* when that was found out */
};
_Static_assert(sizeof(struct pa_time_stats) == 88, "changed: bump PA_ABI_VERSION");

/* Fixed before the programs are loaded. */
struct pa_time_config {
	__u32 own_pid; /* the agent's, which is never counted */
};
_Static_assert(sizeof(struct pa_time_config) == 4, "changed: bump PA_ABI_VERSION");

#define PA_MAX_TIMED_THREADS 65536
#define PA_MAX_ENDED_THREADS 256 /* per CPU; as many as are listed one by one */

/* One per CPU: of the threads that have ended there, those that had existed longest. */
struct pa_ended_times {
	__u64 shortest_ns; /* once it is full: how long the shortest of them existed, and which it is */
	__u32 shortest;
	__u32 nr;
	struct pa_thread_time threads[PA_MAX_ENDED_THREADS];
};
_Static_assert(sizeof(struct pa_ended_times) == 16400, "changed: bump PA_ABI_VERSION");

#endif
