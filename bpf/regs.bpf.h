/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Registers at the time of a sample. */
#ifndef BPF_REGS_BPF_H
#define BPF_REGS_BPF_H

#include "maps.bpf.h"

#include <bpf/bpf_core_read.h>

#if defined(__TARGET_ARCH_x86)
#include "regs_x86.bpf.h"
#else
#include "regs_arm64.bpf.h"
#endif

/* The end of the stack if known, otherwise 0: for the first thread the stack pointer at program
 * start, for another thread its thread pointer. */
static __always_inline u64 stack_end(struct task_struct *task, u64 sp)
{
	u64 first = BPF_CORE_READ(task, mm, start_stack), own = task_thread_pointer(task);

	if (own > sp && own - sp < PA_STACK_MAX_BYTES)
		return own;
	return first > sp && first - sp < PA_STACK_MAX_BYTES ? first : 0;
}

#endif
