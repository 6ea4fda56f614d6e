/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* x86-64: registers at the time of a sample. */
#ifndef BPF_REGS_X86_BPF_H
#define BPF_REGS_X86_BPF_H

#define PA_SP_AT 7                /* DWARF number of the stack pointer */
#define UC_SP_AT PA_SIGNAL_X86_SP /* of the interrupted sp in the ucontext of a signal frame */
#define UC_ALIGN 64               /* alignment of that ucontext, which lies below the FPU state */
#define PA_CAN_FOLLOW_CODE true /* src/unwind/x86_exit.h decodes code to the end of the function */
#define SYSCALL_CODE 0x050f     /* `syscall`, read from memory as a word */
#define SYSCALL_BYTES 2
#define USER32_CS 0x23 /* arch/x86/include/asm/segment.h: __USER32_CS */

#include "syscall.bpf.h"

static __always_inline bool ctx_in_user_mode(struct bpf_perf_event_data *ctx)
{
	return (*(volatile __u64 *)&ctx->regs.cs & 3) == 3;
}

static __always_inline u64 ctx_pc(struct bpf_perf_event_data *ctx)
{
	return ctx->regs.ip;
}

/* By DWARF number: x86-64 psABI, figure 3.36. `from` has the layout of the entry code's frame. */
#define COPY_REGS(w, from)                                                                         \
	do {                                                                                       \
		(w)->pc = (from)->ip;                                                              \
		(w)->sp = (from)->sp;                                                              \
		(w)->fp = (from)->bp;                                                              \
		(w)->regs[0] = (from)->ax;                                                         \
		(w)->regs[1] = (from)->dx;                                                         \
		(w)->regs[2] = (from)->cx;                                                         \
		(w)->regs[3] = (from)->bx;                                                         \
		(w)->regs[4] = (from)->si;                                                         \
		(w)->regs[5] = (from)->di;                                                         \
		(w)->regs[6] = (from)->bp;                                                         \
		(w)->regs[7] = (from)->sp;                                                         \
		(w)->regs[8] = (from)->r8;                                                         \
		(w)->regs[9] = (from)->r9;                                                         \
		(w)->regs[10] = (from)->r10;                                                       \
		(w)->regs[11] = (from)->r11;                                                       \
		(w)->regs[12] = (from)->r12;                                                       \
		(w)->regs[13] = (from)->r13;                                                       \
		(w)->regs[14] = (from)->r14;                                                       \
		(w)->regs[15] = (from)->r15;                                                       \
	} while (0)

/* The thread pointer. glibc puts the block that it points to at the top of a thread's stack. */
static __always_inline u64 task_thread_pointer(struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.fsbase);
}

/* The address at which Go keeps the current stack of a thread. */
static __always_inline u64 task_go_word(struct task_struct *task)
{
	u64 own = task_thread_pointer(task);

	return own ? own - 8 : 0;
}

/* ctx_user_regs() and entry_user_regs(): 0, or the reason why the stack is not walked. */
static __always_inline u32 ctx_user_regs(struct bpf_perf_event_data *ctx, struct pa_walk *w)
{
	COPY_REGS(w, &ctx->regs);
	w->in_syscall = 0;
	return (*(volatile __u64 *)&ctx->regs.cs & 0xffff) == USER32_CS ? PA_STOP_COMPAT : 0;
}

/* From the frame at kernel entry. */
static __always_inline u32 entry_user_regs(const char *frame, struct pa_walk *w)
{
	struct pa_ctx_regs *regs = (void *)w->window; /* a big buffer that is still unused */

	_Static_assert(sizeof(*regs) <= sizeof(w->window), "does not fit");
	if (bpf_probe_read_kernel(regs, sizeof(*regs), frame))
		return PA_STOP_STACK_FAULT;
	COPY_REGS(w, regs);
	/* -1 after an interrupt or a fault */
	w->in_syscall = (__s64)regs->orig_ax >= 0 && is_behind_syscall(regs->ip);
	w->syscall_nr = regs->orig_ax;
	return (regs->cs & 0xffff) == USER32_CS ? PA_STOP_COMPAT : 0;
}

static __always_inline bool is_compat(const struct pa_ctx_regs *regs)
{
	return (regs->cs & 0xffff) == USER32_CS;
}

static __always_inline int syscall_nr_of(const struct pa_ctx_regs *regs)
{
	return (__s64)regs->orig_ax >= 0 ? (int)regs->orig_ax : -1;
}

static __always_inline u32 entry_frame_bytes(void)
{
	return sizeof(struct pa_ctx_regs);
}

#endif
