/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scheduler statistics (bpf/sched_stats.bpf.c): an object of its own, which has the targets in common with
 * the other programs of the session. It takes no samples; its numbers stay in the kernel until they are
 * read.
 */
#ifndef COLLECT_SCHED_COLLECTOR_H
#define COLLECT_SCHED_COLLECTOR_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "collect/cpus.h"
#include "stats/sched_report.h"

struct programs;
struct sched_collector;

struct sched_collector_config {
	bool per_process;                /* else all targets are counted together */
	const struct programs *programs; /* outlives it */
	const struct cpus *online;       /* during the call */
	const struct log *log;
};

/* Loads the programs; nothing runs yet. */
int sched_collector_new(const struct sched_collector_config *cfg,
			struct sched_collector **ret_collector, struct pa_error *err);
struct sched_collector *sched_collector_free(struct sched_collector *c); /* accepts NULL */
DEFINE_CLEANUP(struct sched_collector *, sched_collector_free)

int sched_collector_start(struct sched_collector *c, struct pa_error *err);
/* CPUs come and go. */
int sched_collector_follow(struct sched_collector *c, const struct cpus *online);
/* When it returns nothing is counted any more. Accepts one that was not started. */
void sched_collector_stop(struct sched_collector *c);

unsigned int sched_collector_nr_cpus(const struct sched_collector *c); /* online ones */

/* Context switches so far. */
int sched_collector_counts(const struct sched_collector *c, struct pa_sched_counts *ret_counts);

/* Now and then: reads processes that have ended, so that there is room for others. */
int sched_collector_turn(struct sched_collector *c);

/* What was counted, once, at the end. The caller calls sched_report_done() in any case. */
int sched_collector_read(struct sched_collector *c, struct sched_report *ret_report);

#endif
