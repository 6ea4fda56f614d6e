/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Everything that differs between kernels, in one place; one entry per difference. */
#ifndef BPF_COMPAT_BPF_H
#define BPF_COMPAT_BPF_H

#include "maps.bpf.h"

#include <bpf/bpf_core_read.h>

/* Matched by name against the kernel's own list of helpers; the values here are never used. */
enum bpf_func_id___pa {
	BPF_FUNC_task_pt_regs___pa = 175,
};

/*
 * The registers that a task entered the kernel with. bpf_task_pt_regs() came with 5.15; before it
 * the frame lies at the end of the kernel stack (and only there: later kernels pad that end where
 * they use FRED).
 */
static __always_inline const char *entry_frame(struct task_struct *task, u32 frame_bytes)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id___pa, BPF_FUNC_task_pt_regs___pa))
		return (const char *)bpf_task_pt_regs(bpf_get_current_task_btf());
	return (const char *)BPF_CORE_READ(task, stack) + cfg.thread_size - frame_bytes;
}

/* From the beginning of execve() to its end. A kernel without the mark does not tell. */
static __always_inline bool task_is_in_execve(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->in_execve))
		return false;
	return BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
}

#endif
