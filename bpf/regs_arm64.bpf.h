/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* AArch64: registers at the time of a sample. */
#ifndef BPF_REGS_ARM64_BPF_H
#define BPF_REGS_ARM64_BPF_H

#define PA_SP_AT 31                         /* DWARF number of the stack pointer */
#define UC_SP_AT (PA_SIGNAL_ARM64_SP - 128) /* offset of sp in the ucontext of a signal frame */
#define UC_ALIGN 16                         /* alignment of that ucontext on the stack */
#define PA_CAN_FOLLOW_CODE false
#define SYSCALL_CODE 0xd4000001u /* `svc #0` */
#define SYSCALL_BYTES 4
#define PSR_MODE_MASK 0x0f /* 0: EL0, user mode */
#define PSR_MODE32_BIT 0x10

#include "syscall.bpf.h"

static __always_inline bool ctx_in_user_mode(struct bpf_perf_event_data *ctx)
{
	return (ctx->regs.pstate & PSR_MODE_MASK) == 0;
}

static __always_inline u64 ctx_pc(struct bpf_perf_event_data *ctx)
{
	return ctx->regs.pc;
}

#define COPY_REGS(w, from)                                                                         \
	do {                                                                                       \
		(w)->pc = (from)->pc;                                                              \
		(w)->sp = (from)->sp;                                                              \
		(w)->fp = (from)->regs[29];                                                        \
		(w)->lr = (from)->regs[30];                                                        \
		_Pragma("unroll") for (int i = 0; i < 31; i++)(w)->regs[i] = (from)->regs[i];      \
		(w)->regs[31] = (from)->sp;                                                        \
	} while (0)

/* The thread pointer. glibc puts the block that it points to at the top of a thread's stack. */
static __always_inline u64 task_thread_pointer(struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.uw.tp_value);
}

/* Go keeps the current stack of a thread in a register, and walks in the kernel do not cross Go's
 * stacks on AArch64. */
static __always_inline u64 task_go_word(struct task_struct *task)
{
	return 0;
}

/* ctx_user_regs() and entry_user_regs(): 0, or the reason why the stack is not walked. */
static __always_inline u32 ctx_user_regs(struct bpf_perf_event_data *ctx, struct pa_walk *w)
{
	COPY_REGS(w, &ctx->regs);
	w->in_syscall = 0;
	return ctx->regs.pstate & PSR_MODE32_BIT ? PA_STOP_COMPAT : 0;
}

/* From the frame at kernel entry, which begins with the registers of user mode. */
static __always_inline u32 entry_user_regs(const char *frame, struct pa_walk *w)
{
	struct pa_ctx_regs *regs = (void *)w->window; /* a big buffer that is still unused */

	_Static_assert(sizeof(*regs) <= sizeof(w->window), "does not fit");
	if (bpf_probe_read_kernel(regs, sizeof(*regs), frame))
		return PA_STOP_STACK_FAULT;
	COPY_REGS(w, regs);
	/* The system call number in the frame would tell a system call from a fault, but it is not
	 * stored yet at entry. */
	w->in_syscall = is_behind_syscall(regs->pc);
	w->syscall_nr = regs->regs[8];
	return regs->pstate & PSR_MODE32_BIT ? PA_STOP_COMPAT : 0;
}

static __always_inline bool is_compat(const struct pa_ctx_regs *regs)
{
	return regs->pstate & PSR_MODE32_BIT;
}

static __always_inline int syscall_nr_of(const struct pa_ctx_regs *regs)
{
	return (int)regs->regs[8];
}

static __always_inline u32 entry_frame_bytes(void)
{
	return bpf_core_type_size(struct pt_regs);
}

#endif
