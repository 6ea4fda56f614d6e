/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SCHED_EVENTS_H
#define TESTS_SCHED_EVENTS_H

#define EVENTS_MAX_PIDS 4

enum sched_event_kind {
	EVENT_RUNS = 0,
	EVENT_LEFT = 1, /* it sleeps, or is gone */
	EVENT_PREEMPTED = 2,
	EVENT_WOKEN = 3,
};

struct sched_event {
	__u64 time_ns;
	__u32 tid, pid;
	__u32 kind; /* enum sched_event_kind */
	__u32 cpu;
};

#endif
