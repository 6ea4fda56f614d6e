/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/sched_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void sched_report_done(struct sched_report *r)
{
	free(r->processes);
	*r = (struct sched_report){ 0 };
}

void sched_stats_merge(struct pa_sched_stats *to, const struct pa_sched_stats *from)
{
	histogram_merge(&to->on_cpu, &from->on_cpu);
	histogram_merge(&to->run_queue, &from->run_queue);
	for (unsigned int i = 0; i < PA_NR_SWITCH_REASONS; i++)
		to->reasons[i] += from->reasons[i];
	to->open_ns += from->open_ns;
	for (unsigned int i = 0; i < PA_NR_COUNTERS; i++) {
		to->counters[i].value += from->counters[i].value;
		to->counters[i].enabled_ns += from->counters[i].enabled_ns;
		to->counters[i].running_ns += from->counters[i].running_ns;
	}
}

uint64_t sched_counter_scaled(const struct pa_counter_sum *c)
{
	if (!c->running_ns)
		/* enabled without a counter: unknown; otherwise nothing ran that could be
		 * counted */
		return c->enabled_ns ? PA_UNKNOWN : 0;
	if (c->running_ns >= c->enabled_ns)
		return c->value;
	return (uint64_t)((double)c->value * ((double)c->enabled_ns / (double)c->running_ns) + 0.5);
}

void sched_block_fill(struct sched_block *b, pid_t pid, const struct pa_sched_stats *from,
		      unsigned int available)
{
	*b = (struct sched_block){ .pid = pid, .open_ns = from->open_ns };
	memcpy(b->comm, from->comm, sizeof(b->comm));
	b->comm[sizeof(b->comm) - 1] = '\0';
	for (unsigned int i = 0; i < PA_NR_SWITCH_REASONS; i++) {
		b->reasons[i] = from->reasons[i];
		b->nr_switches += from->reasons[i];
	}
	histogram_describe(&from->on_cpu, &b->on_cpu);
	histogram_describe(&from->run_queue, &b->run_queue);
	for (unsigned int i = 0; i < PA_NR_COUNTERS; i++)
		b->counters[i] = available >> i & 1 ? sched_counter_scaled(&from->counters[i])
						    : PA_UNKNOWN;
}

/* Equal ones are ordered by number, so that the order is deterministic. */
static int compare_waits(const void *a, const void *b)
{
	const struct sched_block *x = a, *y = b;

	if (x->run_queue.sum_ns != y->run_queue.sum_ns)
		return x->run_queue.sum_ns > y->run_queue.sum_ns ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

void sched_report_trim(struct sched_report *r)
{
	if (r->nr_processes)
		qsort(r->processes, r->nr_processes, sizeof(*r->processes), compare_waits);
	while (r->nr_processes > PA_MAX_SCHED_PROCESSES)
		r->nr_unlisted += r->processes[--r->nr_processes].nr_switches;
}

/* Sorting once for as many as the list has costs little for each. */
int sched_report_add(struct sched_report *r, const struct sched_block *b)
{
	const uint32_t max = 2 * PA_MAX_SCHED_PROCESSES;
	int e;

	if (r->nr_processes == max)
		sched_report_trim(r);
	e = ARRAY_RESERVE(r->processes, r->cap_processes, r->nr_processes + 1, max);
	if (e == 0)
		r->processes[r->nr_processes++] = *b;
	return e;
}
