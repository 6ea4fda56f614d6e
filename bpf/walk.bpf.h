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

int pa_walk_step(u32 unused);

/* The sampled address alone: the stack below it is gone, or not ours to walk. */
static __always_inline void pa_walk_leaf(struct pa_scratch *s, u8 stop)
{
	struct pa_sample *rec = &s->sample;

	rec->generation = 0;
	rec->pcs[rec->nr_kernel & (PA_PCS_SLOTS - 1)] = s->walk.pc | PA_PC_EXACT;
	rec->nr_user = 1;
	rec->stop = stop;
}

/* Finds the process's mappings; without them nothing is known of its code. */
static __always_inline bool pa_walk_begin(struct pa_scratch *s)
{
	struct pa_walk *w = &s->walk;
	u32 pid = s->sample.head.pid;
	struct pa_process *p;

	w->nr = 1;
	w->stop = PA_STOP_TOO_DEEP;
	w->is_exact = !w->in_syscall;
	w->has_fp = 1;
	w->has_regs = 1;
	w->has_lr = 1;
	w->window_at = 0;
	w->nr_looked = 0;
	w->mapping.end = 0;
	w->cache_at0 = s->sample.cpu * PA_CACHE_SLOTS;
	if (!cfg.use_tables)
		return true;
	p = bpf_map_lookup_elem(&processes, &pid);
	if (!p)
		return false;
	w->process = *p;
	s->sample.generation = w->process.generation; /* *p may be another process by now */
	return true;
}

/*
 * Walks from the registers in s->walk; appends to the sample behind its kernel pcs, sets nr_user and
 * stop. The loop's bound is the number of frames a record holds; the step itself ends the walk with
 * TOO_DEEP at that number.
 */
static __always_inline void pa_walk(struct pa_scratch *s)
{
	pa_walk_leaf(s, PA_STOP_NO_PROCESS);
	if (!pa_walk_begin(s))
		return;
	for (u32 i = 0; i < PA_MAX_USER_FRAMES; i++) {
		if (!pa_walk_step(i))
			break;
	}
	s->sample.nr_user = s->walk.nr;
	s->sample.stop = s->walk.stop;
}

#endif
