/* SPDX-License-Identifier: Apache-2.0 */
/* Time off the CPU: what the programs count, as an account. */
#ifndef COLLECT_TRIGGER_OFFCPU_H
#define COLLECT_TRIGGER_OFFCPU_H

#include "bpf/wait.h"
#include "collect/trigger.h"

/* Intervals that are found in the programs' maps when the capture is over. */
struct offcpu_found {
	uint64_t nr_summed;
	uint64_t nr_open;       /* not ended: in the profile, until then */
	uint64_t nr_open_short; /* the same, shorter than asked for */
	uint64_t nr_open_ran;   /* the same, of threads that ran instead */
};

/* st: the sum over all CPUs. Every term is counted by itself: if one is wrong the sum is. */
void offcpu_account(const struct pa_wait_stats *st, const struct offcpu_found *found,
		    struct trigger_account *to);

#endif
