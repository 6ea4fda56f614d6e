// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A trigger for tests: every system call of a target, on its way in, where interrupts are on. */
#include "take_sample.bpf.h"

#define ORIGIN_SYSCALLS 1

__u64 nr_submitted, nr_lost;

SEC("raw_tp/sys_enter")
int pa_test_syscalls(struct bpf_raw_tracepoint_args *ctx)
{
	struct pa_moment m = { .ctx = ctx, .pid = current_pid(), .origin = ORIGIN_SYSCALLS };
	u64 values[2] = { ctx->args[1], ~ctx->args[1] };

	if (!m.pid || !is_target(m.pid))
		return 0;
	if (pa_take_sample(&m, values, 2) == PA_SUBMITTED)
		__sync_fetch_and_add(&nr_submitted, 1);
	else
		__sync_fetch_and_add(&nr_lost, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
