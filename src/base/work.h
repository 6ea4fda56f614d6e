/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the reading of one file may cost: bytes, which are the same on every machine, and CPU time as a
 * last resort. Work is charged before it is done. Once a limit is reached, or the work is cancelled,
 * every further charge fails, so that loops end wherever they are.
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

/* What somebody sets who lets files be read. */
struct work_limits {
	const struct cancel *cancel; /* borrowed; NULL: nobody cancels */
	uint64_t max_cpu_ns;         /* 0: no limit */
};

/* Of one thread at a time. All zero: nothing may be done. */
struct work {
	uint64_t left_bytes;
	const struct cancel *cancel; /* borrowed; NULL: nobody cancels */
	uint64_t cpu_end_ns;         /* on the clock of the thread; 0: no limit */
	uint64_t unseen_bytes;       /* charged since clock and cancel were looked at */
	enum work_end end;
};

/* CPU time from now on, of the calling thread, which must be the one that works. */
void work_limit_cpu(struct work *w, uint64_t cpu_ns);

/* Looks at the clock and at cancel. As work_charge(). */
int work_look(struct work *w);

/* -E2BIG: over a limit; -ECANCELED. Costs next to nothing; looks at the clock once in a while. */
int work_charge(struct work *w, uint64_t bytes);

#endif
