/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduler statistics as plain numbers, for all targets together and for each process, as shown by
 * the text, the summary and metrics. */
#ifndef STATS_SCHED_REPORT_H
#define STATS_SCHED_REPORT_H

#include <perfagent/perfagent.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/sched_stats.h"
#include "stats/histogram.h"

struct sched_block {
	pid_t pid; /* 0: all processes together */
	char comm[PA_COMM_SIZE];
	uint64_t nr_switches; /* the sum of reasons[] */
	uint64_t reasons[PA_NR_SWITCH_REASONS];
	struct distribution on_cpu, run_queue;
	uint64_t open_ns;                  /* as in struct pa_sched_stats */
	uint64_t counters[PA_NR_COUNTERS]; /* PA_UNKNOWN: not counted */
};

struct sched_report {
	struct sched_block total;
	struct sched_block *processes; /* owned; longest wait for a CPU first */
	uint32_t nr_processes, cap_processes;
	uint64_t nr_unlisted;    /* context switches of processes that are not in the list */
	const char *no_counters; /* why no hardware counter is available; NULL: at least one is */
	const char *no_io_wait;  /* why it is unknown which waits are for I/O; NULL: it is known */
	struct pa_sched_counts counts;
};

void sched_report_done(struct sched_report *r);

/* Adds the statistics of `from` to `to`, which keeps its name. */
void sched_stats_merge(struct pa_sched_stats *to, const struct pa_sched_stats *from);

/* The value of a counter, scaled from the time that the event was on a counter to the time that it
 * was enabled. PA_UNKNOWN if it never was on a counter. */
uint64_t sched_counter_scaled(const struct pa_counter_sum *c);

/* available: a bit per enum pa_counter_kind. */
void sched_block_fill(struct sched_block *b, pid_t pid, const struct pa_sched_stats *from,
		      unsigned int available);

/* Adds a process to the list. Once in a while those with the shortest waits are removed. */
int sched_report_add(struct sched_report *r, const struct sched_block *b);

/* Sorts the processes, and drops those beyond PA_MAX_SCHED_PROCESSES. */
void sched_report_trim(struct sched_report *r);

#endif
