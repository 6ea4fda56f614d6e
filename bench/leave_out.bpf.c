// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What leave_out.bpf.h declares, and the least that a program can do. */
const volatile __u32 left_out = 0;
__u64 nr_calls[NR_PARTS], nr_bytes[NR_PARTS];
__u64 spare_ids;
__u32 spare_target = PA_TARGET_ON;
struct pa_process spare_process;

/* Where the parts of the scratch are. */
const volatile struct scratch_places places = {
	.regs = offsetof(struct pa_scratch, walk.regs),
	.regs_end = offsetof(struct pa_scratch, walk.regs) + sizeof(((struct pa_walk *)0)->regs),
	.window = offsetof(struct pa_scratch, walk.window),
	.window_end =
		offsetof(struct pa_scratch, walk.window) + sizeof(((struct pa_walk *)0)->window),
	.record = offsetof(struct pa_scratch, sample),
};

struct pa_proc_stats proc_stats SEC(PA_SHARED) = {};

SEC("perf_event")
int empty(struct bpf_perf_event_data *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
