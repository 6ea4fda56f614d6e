/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scheduler statistics (bpf/sched_stats.bpf.c), in a BPF object of their own, which shares the
 * targets with the other programs of the session. No samples are taken; the numbers stay in the
 * kernel until they are read.
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
	bool per_process;                /* otherwise all targets are counted together */
	const struct programs *programs; /* must outlive the collector */
	const struct cpus *online;       /* borrowed during the call */
	const struct log *log;
};

/* Loads the programs; nothing runs yet. */
int sched_collector_new(const struct sched_collector_config *cfg,
			struct sched_collector **ret_collector, struct pa_error *err);
struct sched_collector *sched_collector_free(struct sched_collector *c); /* accepts NULL */
DEFINE_CLEANUP(struct sched_collector *, sched_collector_free)

/* To attach and to detach takes tens of milliseconds; to begin and to end do not, so that the times here
 * are those of the capture. */
int sched_collector_attach(struct sched_collector *c, struct pa_error *err);
void sched_collector_begin(struct sched_collector *c);
/* Nothing is counted any more when it returns. */
void sched_collector_end(struct sched_collector *c);
/* To be called when the online CPUs have changed. */
int sched_collector_follow(struct sched_collector *c, const struct cpus *online);
/* Ends and detaches. May be called if not attached. */
void sched_collector_stop(struct sched_collector *c);

unsigned int sched_collector_nr_cpus(const struct sched_collector *c); /* online CPUs */

/* The numbers of context switches so far. */
int sched_collector_counts(const struct sched_collector *c, struct pa_sched_counts *ret_counts);

/* Adds how often each of its programs ran, and for how long. */
struct program_times;
void sched_collector_add_times(const struct sched_collector *c, struct program_times *to);

/* To be called from time to time: reads the processes that have ended, to make room for others. */
int sched_collector_turn(struct sched_collector *c);

/* Reads the result, once, at the end. The caller calls sched_report_done() in any case. */
int sched_collector_read(struct sched_collector *c, struct sched_report *ret_report);

#endif
