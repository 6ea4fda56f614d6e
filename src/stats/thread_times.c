/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/thread_times.h"

#include <stdlib.h>

#include "base/array.h"

void thread_times_done(struct thread_times *t)
{
	free(t->list);
	*t = (struct thread_times){ 0 };
}

struct thread_time thread_time_of_ended(const struct pa_thread_time *t)
{
	struct thread_time ret = { .pid = (pid_t)t->pid,
				   .tid = (pid_t)t->tid,
				   .elapsed_ns = t->since_ns - t->begin_ns,
				   .nr_missed = t->nr_missed };

	for (unsigned int i = 0; i < PA_NR_TIME_STATES; i++)
		ret.ns[i] = t->ns[i];
	return ret;
}

struct thread_time thread_time_until(const struct pa_thread_time *t, uint64_t end_ns)
{
	struct thread_time ret = thread_time_of_ended(t);

	if (end_ns > t->since_ns) {
		ret.elapsed_ns += end_ns - t->since_ns;
		if (t->state < PA_NR_TIME_STATES)
			ret.ns[t->state] += end_ns - t->since_ns;
		else
			ret.nr_missed++;
	}
	return ret;
}

uint64_t thread_time_unaccounted(const struct thread_time *t)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < PA_NR_TIME_STATES; i++)
		sum += t->ns[i];
	return t->elapsed_ns > sum ? t->elapsed_ns - sum : 0;
}

int thread_times_list(struct thread_times *to, const struct thread_time *t)
{
	/* ended threads of 256 CPUs, and living ones */
	const uint32_t max = 2 * PA_MAX_TIMED_THREADS;
	int r;

	if (to->nr_listed == max)
		return 0;
	r = ARRAY_RESERVE(to->list, to->cap, to->nr_listed + 1, max);
	if (r == 0)
		to->list[to->nr_listed++] = *t;
	return r;
}

void thread_times_add(struct thread_times *to, const struct thread_time *t)
{
	to->nr_threads++;
	to->total.elapsed_ns += t->elapsed_ns;
	to->total.nr_missed += t->nr_missed;
	for (unsigned int i = 0; i < PA_NR_TIME_STATES; i++)
		to->total.ns[i] += t->ns[i];
}

void thread_times_add_ended(struct thread_times *to, const struct pa_time_stats *st)
{
	to->nr_threads += st->nr_ended;
	to->nr_events_no_room += st->nr_events_no_room;
	to->total.elapsed_ns += st->ended_ns;
	to->total.nr_missed += st->ended_missed;
	for (unsigned int i = 0; i < PA_NR_TIME_STATES; i++)
		to->total.ns[i] += st->ended_in[i];
}

/* Equal ones are ordered by number, so that the order is deterministic. */
static int compare_elapsed(const void *a, const void *b)
{
	const struct thread_time *x = a, *y = b;

	if (x->elapsed_ns != y->elapsed_ns)
		return x->elapsed_ns > y->elapsed_ns ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

void thread_times_sort(struct thread_times *t)
{
	if (t->nr_listed)
		qsort(t->list, t->nr_listed, sizeof(*t->list), compare_elapsed);
}

struct thread_time thread_times_others(const struct thread_times *t, uint32_t nr)
{
	struct thread_time rest = t->total;

	for (uint32_t i = 0; i < nr && i < t->nr_listed; i++) {
		rest.elapsed_ns -= t->list[i].elapsed_ns;
		rest.nr_missed -= t->list[i].nr_missed;
		for (unsigned int k = 0; k < PA_NR_TIME_STATES; k++)
			rest.ns[k] -= t->list[i].ns[k];
	}
	return rest;
}
