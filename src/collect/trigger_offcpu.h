/* SPDX-License-Identifier: Apache-2.0 */
/* Off-CPU time: turns the counters of the programs into an account. */
#ifndef COLLECT_TRIGGER_OFFCPU_H
#define COLLECT_TRIGGER_OFFCPU_H

#include "bpf/wait.h"
#include "collect/trigger.h"

/* Intervals found in the maps of the programs at the end of the capture. */
struct offcpu_found {
	uint64_t nr_summed;
	uint64_t nr_open;       /* not ended: in the profile until the end of the capture */
	uint64_t nr_open_short; /* not ended, and shorter than the requested minimum */
	uint64_t nr_open_ran;   /* not ended, but the thread was found to run */
};

/* st: the sum over all CPUs. Every term is counted independently, so a wrong term makes the sum
 * wrong. */
void offcpu_account(const struct pa_wait_stats *st, const struct offcpu_found *found,
		    struct trigger_account *to);

#endif
