/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of the targets' threads goes, by the events of the scheduler (bpf/thread_time.bpf.c). */
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
/* Once after that: threads that have no event are counted, too. -EOPNOTSUPP: not on this kernel. */
int thread_clock_add_silent(const struct thread_clock *c);
/* No event after that is counted. Accepts one that was not attached, as do the others. */
void thread_clock_end(struct thread_clock *c, uint64_t end_ns);
void thread_clock_detach(struct thread_clock *c);

/* After the end. The caller calls thread_times_done() in any case. */
int thread_clock_read(const struct thread_clock *c, struct thread_times *ret_times);

#endif
