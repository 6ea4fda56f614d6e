/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the times of threads to the public structures. */
#include <errno.h>
#include <perfagent/perfagent.h>
#include <stdlib.h>

#include "agent/summary.h"
#include "stats/thread_times.h"

static struct pa_thread_stat public_thread(const struct thread_time *t)
{
	return (struct pa_thread_stat){
		.pid = t->pid,
		.tid = t->tid,
		.elapsed_ns = t->elapsed_ns,
		.on_cpu_ns = t->ns[PA_TIME_ON_CPU],
		.runnable_ns = t->ns[PA_TIME_RUNNABLE],
		.blocked_ns = t->ns[PA_TIME_BLOCKED],
		.unaccounted_ns = thread_time_unaccounted(t),
		.nr_missed = t->nr_missed,
	};
}

int summary_list_threads(const struct thread_times *t, struct pa_thread_stat **ret_list,
			 size_t *ret_nr)
{
	uint32_t nr = t->nr_listed < SUMMARY_MAX_THREADS ? t->nr_listed : SUMMARY_MAX_THREADS;
	struct thread_time others = thread_times_others(t, nr);
	struct pa_thread_stat *list;

	if (!t->nr_threads)
		return 0;
	list = calloc(nr + 2, sizeof(*list));
	if (!list)
		return -ENOMEM;
	list[0] = public_thread(&t->total);
	for (uint32_t i = 0; i < nr; i++)
		list[i + 1] = public_thread(&t->list[i]);
	list[nr + 1] = public_thread(&others);
	*ret_list = list;
	*ret_nr = nr + 1;
	return 0;
}
