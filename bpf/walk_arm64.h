/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* AArch64: registers, pointer authentication and the kernel's signal frame. Included by walk.h. */
#ifndef BPF_WALK_ARM64_H
#define BPF_WALK_ARM64_H

#define PA_REG_SP PA_REG_ARM64_SP
#define PA_REG_FP PA_REG_ARM64_FP

/* The code lies in the bits below; a signature in those above (bit 55 tells the halves apart). */
#define PA_ARM64_VA_MASK ((1ull << 48) - 1)

PA_INLINE __u64 pa_strip_pac(__u64 pc)
{
	return pc & PA_ARM64_VA_MASK;
}

PA_INLINE int pa_walk_enter(struct pa_walk *w, __u64 pc, __u64 sp, __u64 fp, int is_exact);

PA_INLINE int pa_walk_signal(struct pa_walk *w)
{
	__u64 pc, sp, fp, lr;

	if (pa_walk_word(w, &fp, w->sp + PA_SIGNAL_ARM64_FP) ||
	    pa_walk_word(w, &lr, w->sp + PA_SIGNAL_ARM64_LR) ||
	    pa_walk_word(w, &sp, w->sp + PA_SIGNAL_ARM64_SP) ||
	    pa_walk_word(w, &pc, w->sp + PA_SIGNAL_ARM64_PC))
		return pa_walk_end(w, PA_STOP_STACK_FAULT);
	w->has_fp = 1;
	if (!pa_walk_enter(w, pc, sp, fp, 1))
		return 0;
	w->lr = lr; /* an interrupted leaf returns through it */
	w->has_lr = 1;
	return 1;
}

#endif
