/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the on-CPU trigger: its clocks, and its account, which tests use without a kernel. */
#ifndef COLLECT_TRIGGER_ONCPU_H
#define COLLECT_TRIGGER_ONCPU_H

#include "bpf/abi.h"
#include "collect/trigger.h"

struct events;

/* Opens the clocks with the program attached, without enabling them. */
int oncpu_open(enum pa_event event, unsigned int rate_hz, const struct programs *p,
	       const struct cpus *online, struct events **ret_events, struct pa_error *err);

/* per_cpu: the program's counters of nr_cpus CPUs; due: by the count of the clocks. */
void oncpu_account(const struct pa_tick_stats *per_cpu, unsigned int nr_cpus, uint64_t due,
		   struct trigger_account *to);

#endif
