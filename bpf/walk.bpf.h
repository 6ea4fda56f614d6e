/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How entry programs use the walker. */
#ifndef BPF_WALK_BPF_H
#define BPF_WALK_BPF_H

#include "maps.bpf.h"

int pa_walk_step(u32 unused);

/* Registers of user mode, as far as a walk needs them. */
struct pa_user_regs {
	u64 pc, sp, fp;
	bool is_compat; /* a 32-bit task */
};

/* The sampled address alone: the stack below it is gone, or not ours to walk. */
static __always_inline void pa_walk_leaf(struct pa_scratch *s, const struct pa_user_regs *regs,
					 u8 stop)
{
	struct pa_sample *rec = &s->sample;

	rec->pcs[rec->nr_kernel & (PA_PCS_SLOTS - 1)] = regs->pc | PA_PC_EXACT;
	rec->nr_user = 1;
	rec->stop = stop;
}

/*
 * Walks from regs; appends to the sample in the scratch behind its kernel pcs, sets nr_user and
 * stop. The loop's bound is the number of frames a record holds; the step itself ends the walk with
 * TOO_DEEP at that number.
 */
static __always_inline void pa_walk(struct pa_scratch *s, const struct pa_user_regs *regs)
{
	pa_walk_leaf(s, regs, PA_STOP_TOO_DEEP);
	s->walk.pc = regs->pc;
	s->walk.sp = regs->sp;
	s->walk.fp = regs->fp;
	s->walk.nr = 1;
	s->walk.stop = PA_STOP_TOO_DEEP;
	for (u32 i = 0; i < PA_MAX_USER_FRAMES; i++) {
		if (!pa_walk_step(i))
			break;
	}
	s->sample.nr_user = s->walk.nr;
	s->sample.stop = s->walk.stop;
}

#endif
