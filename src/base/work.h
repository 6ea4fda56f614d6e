/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost limit for reading one file: bytes, which are the same on every machine, and CPU time as
 * a last resort. Work is charged before it is done. Once a limit is reached, or the work is
 * cancelled, every further charge fails, so that loops end wherever they are.
 */
#ifndef BASE_WORK_H
#define BASE_WORK_H

#include <stdint.h>

#include "base/cancel.h"

enum work_end {
	WORK_GOES_ON,
	WORK_OVER_BYTES,
	WORK_OVER_TIME,
	WORK_CANCELLED,
};

/* Limits, set by the code that has files read. */
struct work_limits {
	const struct cancel *cancel; /* borrowed; NULL: never cancelled */
	uint64_t max_cpu_ns;         /* 0: no limit */
};

/* Used by one thread at a time. All zero: no work is allowed. */
struct work {
	uint64_t left_bytes;
	const struct cancel *cancel; /* borrowed; NULL: never cancelled */
	uint64_t cpu_end_ns;         /* on the thread's CPU clock; 0: no limit */
	uint64_t unseen_bytes;       /* charged since the clock and cancel were last checked */
	enum work_end end;
};

/* Limits the CPU time of the calling thread, which must be the one that does the work, from now on.
 * */
void work_limit_cpu(struct work *w, uint64_t cpu_ns);

/* Checks the clock and cancel. Returns like work_charge(). */
int work_look(struct work *w);

/* -E2BIG: over a limit; -ECANCELED. Cheap; checks the clock only once in a while. */
int work_charge(struct work *w, uint64_t bytes);

#endif
