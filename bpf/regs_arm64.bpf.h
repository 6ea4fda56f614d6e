/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* AArch64: where registers are when a sample hits. */
#ifndef BPF_REGS_ARM64_BPF_H
#define BPF_REGS_ARM64_BPF_H

#define PSR_MODE_MASK 0x0f /* 0: EL0, user mode */
#define PSR_MODE32_BIT 0x10

static __always_inline bool ctx_in_user_mode(struct bpf_perf_event_data *ctx)
{
	return (ctx->regs.pstate & PSR_MODE_MASK) == 0;
}

static __always_inline u64 ctx_pc(struct bpf_perf_event_data *ctx)
{
	return ctx->regs.pc;
}

static __always_inline void ctx_user_regs(struct bpf_perf_event_data *ctx, struct pa_user_regs *to)
{
	to->pc = ctx->regs.pc;
	to->sp = ctx->regs.sp;
	to->fp = ctx->regs.regs[29];
	to->is_compat = (ctx->regs.pstate & PSR_MODE32_BIT) != 0;
}

/* From the frame the kernel was entered with: it begins with the user-visible registers. */
static __always_inline int entry_user_regs(const char *frame, struct pa_user_regs *to)
{
	struct pa_ctx_regs regs;

	if (bpf_probe_read_kernel(&regs, sizeof(regs), frame))
		return -1;
	to->pc = regs.pc;
	to->sp = regs.sp;
	to->fp = regs.regs[29];
	to->is_compat = (regs.pstate & PSR_MODE32_BIT) != 0;
	return 0;
}

static __always_inline u32 entry_frame_bytes(void)
{
	return bpf_core_type_size(struct pt_regs);
}

#endif
