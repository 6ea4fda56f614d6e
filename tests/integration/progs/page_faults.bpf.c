// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A trigger that the product does not have: one run per page fault. */
#include "take_sample.bpf.h"

#define PAGE_BYTES 4096

const volatile struct pa_config cfg = {};
const volatile __u8 origin = 0;
struct pa_proc_stats proc_stats SEC(PA_SHARED) = {};
__u64 nr_other; /* not a target's; of this object alone */

struct pa_stats_map fault_stats SEC(".maps");

SEC("perf_event")
int pa_page_fault(struct bpf_perf_event_data *ctx)
{
	struct pa_moment m = { .ctx = ctx, .perf = ctx, .pid = current_pid(), .origin = origin };
	u64 bytes = PAGE_BYTES;
	u32 zero = 0;
	struct pa_tick_stats *st = bpf_map_lookup_elem(&fault_stats, &zero);
	enum pa_outcome outcome;

	if (!st)
		return 0; /* cannot be: an array's element 0 exists */
	st->ticks++;
	if (!m.pid || !is_target(m.pid)) {
		__sync_fetch_and_add(&nr_other, 1);
		return 0;
	}
	outcome = pa_take_sample(&m, &bytes, 1);
	if (outcome == PA_SUBMITTED)
		st->submitted++;
	else if (outcome == PA_TOO_NESTED)
		st->nested++;
	else
		st->ring_full++;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
