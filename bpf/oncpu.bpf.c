// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The on-CPU trigger: one run per tick of a CPU's clock (or cycle counter). */
#include "take_sample.bpf.h"

const volatile struct pa_config cfg = {};

static __always_inline void count(struct pa_tick_stats *st, enum pa_outcome outcome)
{
	if (outcome == PA_SUBMITTED)
		st->submitted++;
	else if (outcome == PA_RING_FULL)
		st->ring_full++;
	else if (outcome == PA_RING_BUSY)
		st->ring_busy++;
	else
		st->nested++;
}

SEC("perf_event")
int pa_oncpu(struct bpf_perf_event_data *ctx)
{
	struct pa_moment m = { .ctx = ctx, .perf = ctx, .origin = PA_ORIGIN_ONCPU };
	u64 period = ctx->sample_period;
	u32 zero = 0;
	struct pa_tick_stats *st = bpf_map_lookup_elem(&tick_stats, &zero);

	if (!st)
		return 0; /* cannot be: an array's element 0 exists */
	st->ticks++;
	st->weight += period;
	if ((u32)bpf_get_current_pid_tgid() == 0) {
		st->idle++;
		return 0;
	}
	m.pid = current_pid();
	if (!m.pid)
		st->outside++;
	else if (!is_target(m.pid))
		st->other++;
	else
		count(st, pa_take_sample(&m, &period, 1));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
