/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perf events that take samples, such as a clock: one per online CPU, opened disabled, the program
 * attached, then all enabled together. CPUs that come and go during the capture are followed.
 */
#ifndef COLLECT_EVENTS_H
#define COLLECT_EVENTS_H

#include <linux/perf_event.h>
#include <perfagent/perfagent.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/abi.h"
#include "collect/cpus.h"

struct events;

/* Opens and attaches on every CPU of `online`, without enabling. attr defines the event and its
 * rate; prog_fd is borrowed. */
int events_open(const struct perf_event_attr *attr, int prog_fd, const struct cpus *online,
		struct events **ret_events, struct pa_error *err);
struct events *events_free(struct events *e);
DEFINE_CLEANUP(struct events *, events_free)

int events_enable(struct events *e);

/* Opens events on CPUs that are new in `online`, and closes those of CPUs that left (their counts
 * are kept: an event of a CPU that went offline stays dead when the CPU returns). `silent`: CPUs
 * that have not ticked for a while, and may have been offline in between. Only those are queried,
 * because that wakes up a CPU. */
int events_follow(struct events *e, const struct cpus *online, const struct cpus *silent);

/* Disables all events; no program runs any more when it returns. */
void events_disable(struct events *e);

/*
 * How many ticks were due on one CPU whose event has this count, of which nr_delivered were
 * delivered, with periods that add up to weight: the count divided by the period, and never less
 * than were delivered (the counting and the firing clock can differ by a tick at the edges). If
 * every sample has its own period (period is 0): delivered, plus the missing part of the count, in
 * mean periods.
 */
uint64_t events_due(uint64_t count, uint64_t period, uint64_t nr_delivered, uint64_t weight);

/* The current count of each CPU's event, by CPU number, for events_missing(). */
void events_read_counts(const struct events *e, uint64_t *ret_counts, unsigned int nr_cpus);
uint64_t events_period(const struct events *e); /* 0: every sample has its own period */

/* How many ticks are missing, going by the counts of events_read_counts(). per_cpu, which must be
 * read after those, has the delivered ticks. The newest tick of each CPU may still be in flight,
 * and is never counted as missing. */
uint64_t events_missing(const uint64_t *counts, uint64_t period,
			const struct pa_tick_stats *per_cpu, unsigned int nr_cpus);

/* The ticks that were due on all CPUs together. per_cpu has nr_cpus elements, by CPU number. Call
 * after events_disable(). */
uint64_t events_ticks_due(const struct events *e, const struct pa_tick_stats *per_cpu,
			  unsigned int nr_cpus);

unsigned int events_nr_cpus(const struct events *e); /* CPUs that were sampled at any time */

#endif
