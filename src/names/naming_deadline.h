/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When naming has to end because the user waits for it: a second after the end was asked for. Used by
 * all threads that name a model; one for all models of a session, because the user waits once.
 */
#ifndef NAMES_NAMING_DEADLINE_H
#define NAMES_NAMING_DEADLINE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"

/* The user waits this long, and has waited at most NAMING_WAIT_MOST_NS when the machine was so busy
 * that naming had less than NAMING_CPU_NS of CPU time, in all threads together, by then. */
#define NAMING_WAIT_NS NS_PER_S
#define NAMING_CPU_NS NS_PER_S
#define NAMING_WAIT_MOST_NS (8 * NS_PER_S)
/* Of that, what precedes the names: fetching debug files, and placing samples by their time. */
#define NAMING_FETCH_NS (NS_PER_S / 2)
#define NAMING_PLACING_NS (NS_PER_S / 4)

struct naming_deadline {
	/* Borrowed; NULL: never true. Either makes the time run. */
	const atomic_bool *hurry;       /* nothing is to be waited for any more */
	const atomic_bool *interrupted; /* the user has ended the capture */
	/* when that was first noticed, on the monotonic clock and in CPU time of the process; 0: not
	 * yet */
	atomic_ullong began_ns, began_cpu_ns;
	/* The part of the time that the models named so far may have taken, in thousandths; 0: all. */
	atomic_uint share_permille;
};

/* d may be NULL in all of these: nobody waits. */

/* True if the user waits. Starts the time. */
bool naming_deadline_is_set(struct naming_deadline *d);

/* Leaves time for the models that follow: number nr of nr_all (from 1 on) is named next. */
void naming_deadline_share(struct naming_deadline *d, unsigned int nr, unsigned int nr_all);

/* True if the time for names is over. */
bool naming_deadline_is_over(struct naming_deadline *d);

/* True if debug files are not to be waited for any more. */
bool naming_deadline_ends_fetching(struct naming_deadline *d);

/* True if samples are not to be placed any more that began to be placed at this time. */
bool naming_deadline_ends_placing(struct naming_deadline *d, uint64_t began_ns);

#endif
