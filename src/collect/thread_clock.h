/* SPDX-License-Identifier: Apache-2.0 */
/* How long each thread of a target is on a CPU, waits for one, or is blocked, from scheduler events
 * (bpf/thread_time.bpf.c). */
#ifndef COLLECT_THREAD_CLOCK_H
#define COLLECT_THREAD_CLOCK_H

#include "base/error.h"
#include "stats/thread_times.h"

#define THREAD_CLOCK_NR_HOOKS 3

struct programs;

struct thread_clock {
	struct programs *programs;        /* borrowed; NULL: not attached */
	uint64_t begin_ns, end_ns;        /* 0: not yet */
	int links[THREAD_CLOCK_NR_HOOKS]; /* owned; -1: not attached */
};
#define THREAD_CLOCK_NONE                                                                          \
	{                                                                                          \
		.links = { -1, -1, -1 }                                                            \
	}

/* Attaches the programs, which were loaded with programs_config.use_times; nothing is counted yet. */
int thread_clock_attach(struct thread_clock *c, struct programs *p, struct pa_error *err);
void thread_clock_begin(struct thread_clock *c, uint64_t begin_ns);
/* To be called once after attaching, so that threads without an event are counted, too.
 * -EOPNOTSUPP: the kernel has no such iterator. */
int thread_clock_add_silent(const struct thread_clock *c);
/* Events after end_ns are not counted. May be called if nothing is attached, as may all the
 * others. */
void thread_clock_end(struct thread_clock *c, uint64_t end_ns);
void thread_clock_detach(struct thread_clock *c);

/* Reads the result after the end. The caller calls thread_times_done() in any case. */
int thread_clock_read(const struct thread_clock *c, struct thread_times *ret_times);

#endif
