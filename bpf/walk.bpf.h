/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How entry programs use the walker: registers into s->walk, then pa_walk(). */
#ifndef BPF_WALK_BPF_H
#define BPF_WALK_BPF_H

#include "code.h"
#include "maps.bpf.h"

PA_INLINE int pa_walk_read(struct pa_walk *w, void *to, __u32 size, __u64 addr)
{
	return bpf_probe_read_user(to, size, (const void *)addr);
}

#define PA_STEPS 16 /* of one call: the verifier follows every round of a loop */

int pa_walk_steps(u32 level);
int pa_walk_load(u32 level, u64 frame_end);
int pa_returns_to(u32 level, u64 pc);
int pa_return_within(u32 level, u64 from, u64 end);
int pa_leave_stack(u32 level, u64 rule);

/* Finds the mappings of the process, and stores their generation in *ret_generation. Without them
 * nothing is known about its code. */
static __always_inline bool pa_walk_begin(struct pa_walk *w, u32 pid, u32 cpu, u32 *ret_generation)
{
	struct pa_process *p;

	w->nr = 1;
	w->stop = PA_STOP_TOO_DEEP;
	w->is_exact = !w->in_syscall;
	w->has_fp = 1;
	w->has_regs = 1;
	w->has_lr = 1;
	w->window_at = 0;
	w->window_bytes = 0;
	w->nr_looked = 0;
	w->mapping.end = 0;
	w->cpu = cpu;
	w->cached_next = 0;
	w->go.m = 0;
	w->own_sp = 0;
	*ret_generation = 0;
	if (!cfg.use_tables)
		return true;
	p = bpf_map_lookup_elem(&processes, &pid);
	if (!p)
		return false;
	w->process = *p;
	w->rule_owner = (u64)w->process.generation << 32 | w->process.epoch;
	*ret_generation = w->process.generation; /* p may belong to another process by now */
	return true;
}

/* Records the sampled address, which every sample has, even if the stack is gone or cannot be
 * walked. It may lie in the kernel's half (vsyscall): then the upper bits would read as a frame
 * kind. */
static __always_inline void pa_walk_leaf(struct pa_scratch *s)
{
	u32 at = s->at;

	s->words[at & (PA_WORD_SLOTS - 1)] = PA_FRAME_ADDR(s->walk.pc) | PA_PC_EXACT;
	s->at = at + 1;
}

/*
 * Walks from the registers in s->walk, and writes the words of the frames at the cursor. The loop's
 * bound is the number of frames that a record holds; the step itself ends the walk with TOO_DEEP at
 * that number. Returns why it ended.
 */
static __always_inline u32 pa_walk(struct pa_scratch *s, u32 pid, u32 cpu, u32 *ret_generation)
{
	u32 level = s->walk.level;

	pa_walk_leaf(s);
	if (!pa_walk_begin(&s->walk, pid, cpu, ret_generation))
		return PA_STOP_NO_PROCESS;
	for (u32 i = 0; i < PA_MAX_USER_FRAMES / PA_STEPS; i++)
		if (!pa_walk_steps(level))
			break;
	return s->walk.stop;
}

#endif
