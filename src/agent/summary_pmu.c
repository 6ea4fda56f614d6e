/* SPDX-License-Identifier: Apache-2.0 */
/* Converts scheduler statistics to the public structures. */
#include <errno.h>
#include <perfagent/perfagent.h>
#include <stdlib.h>
#include <string.h>

#include "agent/summary.h"
#include "stats/sched_report.h"

static struct pa_distribution public_distribution(const struct distribution *d)
{
	return (struct pa_distribution){
		.count = d->count,
		.sum_ns = d->sum_ns,
		.mean_ns = d->mean_ns,
		.min_ns = d->min_ns,
		.max_ns = d->max_ns,
		.p50_ns = d->p50_ns,
		.p95_ns = d->p95_ns,
		.p99_ns = d->p99_ns,
		.p999_ns = d->p999_ns,
	};
}

/* Converts one block; its name is borrowed. */
static struct pa_pmu_stat public_stat(const struct sched_report *r, const struct sched_block *b)
{
	return (struct pa_pmu_stat){
		.pid = b->pid,
		.comm = b->pid ? b->comm : NULL,
		.nr_switches = b->nr_switches,
		.nr_preempted = b->reasons[PA_SWITCH_PREEMPTED],
		.nr_voluntary = b->reasons[PA_SWITCH_VOLUNTARY],
		.nr_io_wait = r->no_io_wait ? PA_UNKNOWN : b->reasons[PA_SWITCH_IO_WAIT],
		.nr_stopped = b->reasons[PA_SWITCH_STOPPED],
		.nr_exited = b->reasons[PA_SWITCH_EXITED],
		.on_cpu = public_distribution(&b->on_cpu),
		.run_queue = public_distribution(&b->run_queue),
		.on_cpu_total_ns = b->on_cpu.sum_ns + b->open_ns,
		.cycles = b->counters[PA_COUNTER_CYCLES],
		.instructions = b->counters[PA_COUNTER_INSTRUCTIONS],
		.cache_misses = b->counters[PA_COUNTER_CACHE_MISSES],
	};
}

int summary_list_pmu(const struct sched_report *r, struct pa_pmu_stat **ret_list, size_t *ret_nr)
{
	struct pa_pmu_stat *list = calloc(r->nr_processes + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	list[0] = public_stat(r, &r->total);
	for (size_t i = 0; i < r->nr_processes; i++)
		list[i + 1] = public_stat(r, &r->processes[i]);
	*ret_list = list;
	*ret_nr = r->nr_processes + 1;
	return 0;
}

void summary_count_pmu_gaps(const struct pa_sched_counts *c, uint64_t nr_waiting,
			    struct pa_count *to)
{
	const struct pa_count gaps[SUMMARY_NR_PMU_GAPS] = {
		{ "waits_lost",
		  "waits for a CPU were not measured: their start was not reported, or there were "
		  "too many threads",
		  c->waits_lost },
		{ "unlisted",
		  "context switches of processes that had no room in the list; they are in the sum",
		  c->unlisted },
		{ "uncounted",
		  "time slices without hardware counters: they could not be read, or "
		  "stood still",
		  c->uncounted },
		{ "unseen", "time slices without a length: the kernel did not report their start",
		  c->unseen },
		{ "waits_open",
		  "waits for a CPU were not over at the end: only the time of threads has them",
		  nr_waiting },
	};

	memcpy(to, gaps, sizeof(gaps));
}
