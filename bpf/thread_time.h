/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The time that threads spend in each state, from scheduler events; shared between kernel and user
 * space. */
#ifndef BPF_THREAD_TIME_H
#define BPF_THREAD_TIME_H

#include "abi.h"

enum pa_time_state {
	PA_TIME_ON_CPU = 0,
	PA_TIME_RUNNABLE = 1, /* waits for a CPU: woken up, preempted, or new */
	PA_TIME_BLOCKED = 2,  /* waits for anything else, or is stopped */
	PA_NR_TIME_STATES,
	PA_TIME_UNKNOWN = PA_NR_TIME_STATES, /* it has left its CPU without an event */
};

/* One thread. Only events of the thread itself change the entry, and the scheduler's locks order
 * those. */
struct pa_thread_time {
	__u64 begin_ns;              /* from when on its state is known */
	__u64 since_ns;              /* begin of `state`; finally the end of the thread */
	__u64 ns[PA_NR_TIME_STATES]; /* states that have ended, with a known begin and end */
	/* when it blocked: how long it had waited for CPUs, as counted by the scheduler */
	__u64 run_delay;
	__u32 pid, tid;
	__u32 nr_missed; /* missing events: the state before the next event is not in ns[] */
	__u8 state;      /* enum pa_time_state */
	__u8 pad[3];
};
_Static_assert(sizeof(struct pa_thread_time) == 64, "changed: bump PA_ABI_VERSION");

/* One per CPU. */
struct pa_time_stats {
	__u64 nr_ended;                    /* threads */
	__u64 ended_ns;                    /* the lifetimes of those threads, summed up */
	__u64 ended_in[PA_NR_TIME_STATES]; /* their ns[], summed up */
	__u64 ended_missed;
	__u64 nr_events_no_room; /* events of threads for which there was no room */
	__u64 switched_ns;       /* when this CPU last changed tasks; 0: not yet */
	__u64 running;     /* struct task_struct *: the task of the last switch; 0: none yet */
	__u64 clock_ns;    /* difference to the scheduler's clock; 0: unknown */
	__u64 compared_ns; /* when that was last measured */
};
_Static_assert(sizeof(struct pa_time_stats) == 88, "changed: bump PA_ABI_VERSION");

/* Fixed before the programs are loaded. */
struct pa_time_config {
	__u32 own_pid; /* the agent, which is never counted */
};
_Static_assert(sizeof(struct pa_time_config) == 4, "changed: bump PA_ABI_VERSION");

#define PA_MAX_TIMED_THREADS 65536
#define PA_MAX_ENDED_THREADS 256 /* per CPU; as many as are listed individually */

/* One per CPU: the longest-lived of the threads that have ended there. */
struct pa_ended_times {
	/* once it is full: the lifetime of the shortest-lived entry, and its index */
	__u64 shortest_ns;
	__u32 shortest;
	__u32 nr;
	struct pa_thread_time threads[PA_MAX_ENDED_THREADS];
};
_Static_assert(sizeof(struct pa_ended_times) == 16400, "changed: bump PA_ABI_VERSION");

#endif
