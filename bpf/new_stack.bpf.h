/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The stack of a thread that the current task has just created. Creator and thread return from the
 * same system call: the thread in a copy of the creator's stack (fork()), on the same stack
 * (vfork()), or on a stack of its own, which has no frame yet (pthread_create()). The memory of the
 * thread cannot be read here; that of the creator can, and has the same contents.
 */
#ifndef BPF_NEW_STACK_BPF_H
#define BPF_NEW_STACK_BPF_H

#include "take_sample.bpf.h"

/* The new thread's registers at kernel entry are at the same place of its kernel stack as the
 * creator's are of the creator's. */
static __always_inline u64 new_stack_pointer(struct pa_scratch *s, struct task_struct *task)
{
	volatile u64 *at =
		&s->wait_id; /* stored in memory, a pointer becomes a number for the verifier */
	u64 sp = 0, base = (u64)BPF_CORE_READ(task, stack);

	*at = (u64)entry_frame(entry_frame_bytes());
	bpf_probe_read_kernel(
		&sp, sizeof(sp),
		(char *)(base + (*at - (u64)CURRENT(stack)) + offsetof(struct pa_ctx_regs, sp)));
	return sp;
}

/* If the thread has a stack of its own, the system call is its outermost frame. */
static __always_inline u32 walk_new_stack(struct pa_scratch *s, const struct pa_moment *m,
					  struct task_struct *task)
{
	struct pa_sample *rec = &s->sample;
	u32 stop = user_regs(m, &s->walk);

	if (stop == PA_STOP_STACK_FAULT || s->walk.sp == new_stack_pointer(s, task))
		return walk_user_stack(s, m);
	if (s->walk.in_syscall) {
		rec->flags |= PA_SAMPLE_IN_SYSCALL;
		rec->syscall_nr = s->walk.syscall_nr;
	}
	pa_walk_leaf(s);
	return stop ? stop : PA_STOP_END;
}

/* Fills in the sample of a new thread. */
static __always_inline void gather_new(struct pa_scratch *s, const struct pa_moment *m,
				       struct task_struct *task, u32 pid)
{
	struct task_struct *first = BPF_CORE_READ(task, group_leader);
	struct pa_sample *rec = &s->sample;

	fill_header(s, m);
	rec->nr_values = 1;
	rec->nr_kernel = 0;
	s->words[0] = 0;
	s->at = rec->nr_values;
	s->limit = s->at + PA_MAX_USER_FRAMES;
	rec->stop = walk_new_stack(s, m, task);
	rec->nr_user = s->at - rec->nr_values;
	if (pa_can_be_finished(s))
		rec->flags |= PA_SAMPLE_UNFINISHED;
	rec->head.pid = pid;
	rec->tid = task_tid(task);
	bpf_probe_read_kernel(rec->comm, sizeof(rec->comm), first->comm);
	bpf_probe_read_kernel(rec->thread, sizeof(rec->thread), task->comm);
}

#endif
