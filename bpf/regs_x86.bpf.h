/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* x86-64: where registers are when a sample hits. */
#ifndef BPF_REGS_X86_BPF_H
#define BPF_REGS_X86_BPF_H

#define USER32_CS 0x23 /* arch/x86/include/asm/segment.h: __USER32_CS */

/* The entry code's frame: r15 … di, orig_ax, ip, cs, flags, sp, ss, eight bytes each. */
#define PT_REGS_BYTES 168
#define PT_REGS_BP 32
#define PT_REGS_IP 128
#define PT_REGS_CS 136
#define PT_REGS_SP 152

static __always_inline bool ctx_in_user_mode(struct bpf_perf_event_data *ctx)
{
	return (*(volatile __u64 *)&ctx->regs.cs & 3) == 3;
}

static __always_inline u64 ctx_pc(struct bpf_perf_event_data *ctx)
{
	return ctx->regs.ip;
}

static __always_inline void ctx_user_regs(struct bpf_perf_event_data *ctx, struct pa_user_regs *to)
{
	to->pc = ctx->regs.ip;
	to->sp = ctx->regs.sp;
	to->fp = ctx->regs.bp;
	to->is_compat = (*(volatile __u64 *)&ctx->regs.cs & 0xffff) == USER32_CS;
}

/* From the frame the kernel was entered with. */
static __always_inline int entry_user_regs(const char *frame, struct pa_user_regs *to)
{
	u64 regs[PT_REGS_BYTES / 8];

	if (bpf_probe_read_kernel(regs, sizeof(regs), frame))
		return -1;
	to->pc = regs[PT_REGS_IP / 8];
	to->sp = regs[PT_REGS_SP / 8];
	to->fp = regs[PT_REGS_BP / 8];
	to->is_compat = (regs[PT_REGS_CS / 8] & 0xffff) == USER32_CS;
	return 0;
}

static __always_inline u32 entry_frame_bytes(void)
{
	return PT_REGS_BYTES;
}

#endif
