/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Everything that differs between kernels, in one place; one entry per difference. */
#ifndef BPF_COMPAT_BPF_H
#define BPF_COMPAT_BPF_H

#include "maps.bpf.h"

#include <bpf/bpf_core_read.h>

/* Resolved by name against the kernel's own list of helpers; the values here are never used. */
enum bpf_func_id___pa {
	BPF_FUNC_get_current_task_btf___pa = 158,
	BPF_FUNC_task_pt_regs___pa = 175,
};

/* A field of the current task. With BTF pointers (5.11) it is loaded; before that a helper copies
 * it, which takes several times as long, and samples read many. */
#define HAS_TASK_BTF                                                                               \
	bpf_core_enum_value_exists(enum bpf_func_id___pa, BPF_FUNC_get_current_task_btf___pa)
#define CURRENT(field)                                                                             \
	(HAS_TASK_BTF ? bpf_get_current_task_btf()->field                                          \
		      : BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), field))

/* Stores the names of the current task and of its process, PA_COMM_SIZE bytes each, as words. With BTF pointers they
 * are loaded, because each call of a helper that copies takes as long as a walk of several frames. */
static __always_inline void read_current_names(char *comm, char *thread)
{
	struct task_struct *first, *task;

	_Static_assert(sizeof(task->comm) == PA_COMM_SIZE && PA_COMM_SIZE == 2 * sizeof(u64),
		       "two words");
	if (!HAS_TASK_BTF) {
		first = CURRENT(group_leader);
		bpf_probe_read_kernel(comm, PA_COMM_SIZE, first->comm);
		bpf_get_current_comm(thread, PA_COMM_SIZE);
		return;
	}
	task = bpf_get_current_task_btf();
	first = task->group_leader;
	for (int i = 0; i < 2; i++) {
		((u64 *)comm)[i] = ((u64 *)first->comm)[i];
		((u64 *)thread)[i] = ((u64 *)task->comm)[i];
	}
}

/*
 * The registers at kernel entry. bpf_task_pt_regs() exists since 5.15; before that, the frame is at
 * the end of the kernel stack (and only then: later kernels pad that end if they use FRED).
 */
static __always_inline const char *entry_frame(u32 frame_bytes)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id___pa, BPF_FUNC_task_pt_regs___pa))
		return (const char *)bpf_task_pt_regs(bpf_get_current_task_btf());
	return (const char *)CURRENT(stack) + cfg.thread_size - frame_bytes;
}

/* From the beginning of execve() to its end. Unknown on kernels without the flag. */
static __always_inline bool is_in_execve(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	if (!bpf_core_field_exists(task->in_execve))
		return false;
	if (!HAS_TASK_BTF)
		return BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
	task = bpf_get_current_task_btf();
	return BPF_CORE_READ_BITFIELD(task, in_execve);
}

#endif
