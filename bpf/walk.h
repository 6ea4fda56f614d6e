/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one walker over user stacks. This header is the walk itself, in plain C: the kernel runs it
 * frame by frame (walk.bpf.c), and the host compiles it for tests on recorded stacks.
 *
 * Frames are found by frame pointer. Both architectures lay a frame record out alike: the caller's
 * frame pointer at [fp], the return address at [fp + 8].
 */
#ifndef BPF_WALK_H
#define BPF_WALK_H

#include "walk_state.h"

static inline __attribute__((always_inline)) int pa_walk_read(struct pa_walk *w, void *to,
							      __u32 size, __u64 addr);

/* A user address that can be code: not in the first page, not in the kernel's half. */
#define PA_USER_MIN 4096ull
#define PA_USER_MAX (1ull << 56) /* 57-bit addresses, the widest of both architectures */

static inline __attribute__((always_inline)) int pa_is_user_addr(__u64 addr)
{
	return addr >= PA_USER_MIN && addr < PA_USER_MAX;
}

/* Ends the walk. */
static inline __attribute__((always_inline)) int pa_walk_end(struct pa_walk *w, __u32 stop)
{
	w->stop = stop;
	return 0;
}

/* Whether w->fp can be a frame record at all: above the stack pointer, aligned, in user space. */
static inline __attribute__((always_inline)) int pa_walk_fp_is_plausible(const struct pa_walk *w)
{
	return w->fp >= w->sp && (w->fp & 7) == 0 && pa_is_user_addr(w->fp);
}

/*
 * From the frame at w->pc to its caller. 1: w is the caller now; 0: over, w->stop says why. Target
 * memory is read by pa_walk_read(), which whoever includes this header has defined: 0, or negative
 * when the bytes cannot be read.
 */
static inline __attribute__((always_inline)) int pa_walk_frame(struct pa_walk *w)
{
	__u64 record[2];

	if (w->nr >= PA_MAX_USER_FRAMES)
		return pa_walk_end(w, PA_STOP_TOO_DEEP);
	if (!pa_walk_fp_is_plausible(w))
		return pa_walk_end(w, PA_STOP_FP_END);
	if (pa_walk_read(w, record, sizeof(record), w->fp))
		return pa_walk_end(w, PA_STOP_STACK_FAULT);
	if (!pa_is_user_addr(record[1]))
		return pa_walk_end(w, PA_STOP_FP_END);
	w->sp = w->fp + sizeof(record);
	w->fp = record[0];
	w->pc = record[1];
	w->nr++;
	return 1;
}

#endif
