/* SPDX-License-Identifier: Apache-2.0 */
#include "base/work.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"

#define LOOK_EVERY_BYTES (64u << 10) /* 10 to 600 microseconds of work */

static int result_of(enum work_end end)
{
	switch (end) {
	case WORK_GOES_ON:
		return 0;
	case WORK_CANCELLED:
		return -ECANCELED;
	case WORK_OVER_BYTES:
	case WORK_OVER_TIME:
		break;
	}
	return -E2BIG;
}

void work_limit_cpu(struct work *w, uint64_t cpu_ns)
{
	w->cpu_end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
}

int work_look(struct work *w)
{
	w->unseen_bytes = 0;
	if (w->end == WORK_GOES_ON && cancel_is_asked(w->cancel))
		w->end = WORK_CANCELLED;
	if (w->end == WORK_GOES_ON && w->cpu_end_ns &&
	    clock_ns(CLOCK_THREAD_CPUTIME_ID) > w->cpu_end_ns)
		w->end = WORK_OVER_TIME;
	return result_of(w->end);
}

int work_charge(struct work *w, uint64_t bytes)
{
	int r = 0;

	if (w->end != WORK_GOES_ON)
		return result_of(w->end);
	if (bytes > w->left_bytes) {
		w->end = WORK_OVER_BYTES;
		return -E2BIG;
	}
	w->left_bytes -= bytes;
	w->unseen_bytes += bytes;
	if (w->unseen_bytes >= LOOK_EVERY_BYTES)
		r = work_look(w);
	return r;
}
