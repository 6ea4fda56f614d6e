/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware counters that BPF programs read: one event of each kind per online CPU. A kind that cannot be
 * opened is left out, and the others work without it. */
#ifndef COLLECT_HW_COUNTERS_H
#define COLLECT_HW_COUNTERS_H

#include "base/cleanup.h"
#include "bpf/sched_stats.h"
#include "collect/cpus.h"

struct hw_counters;

int hw_counters_open(const struct cpus *online, struct hw_counters **ret_counters);
struct hw_counters *hw_counters_free(struct hw_counters *c); /* accepts NULL */
DEFINE_CLEANUP(struct hw_counters *, hw_counters_free)

/* The kinds that are available: a bit per enum pa_counter_kind. */
unsigned int hw_counters_available(const struct hw_counters *c);

/* Text for the user that says why no counter is available; NULL if at least one is. */
const char *hw_counters_problem(const struct hw_counters *c);

/* Puts the events into maps of type BPF_MAP_TYPE_PERF_EVENT_ARRAY, by kind; those of CPUs that come
 * online later are added by hw_counters_follow(), which also replaces those of CPUs whose counters
 * seem to stand still. */
int hw_counters_publish(struct hw_counters *c, const int map_fds[PA_NR_COUNTERS]);
int hw_counters_follow(struct hw_counters *c, const struct cpus *online, const struct cpus *still);

#endif
