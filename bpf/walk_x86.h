/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* x86-64: registers and the kernel's signal frame. Included by walk.h. */
#ifndef BPF_WALK_X86_H
#define BPF_WALK_X86_H

#define PA_REG_SP PA_REG_X86_SP
#define PA_REG_FP PA_REG_X86_FP

PA_INLINE __u64 pa_strip_pac(__u64 pc)
{
	return pc;
}

PA_INLINE int pa_walk_enter(struct pa_walk *w, __u64 pc, __u64 sp, __u64 fp, int is_exact);

/* The interrupted registers lie above sp. A handler on a stack of its own makes sp jump anywhere. */
PA_INLINE int pa_walk_signal(struct pa_walk *w)
{
	__u64 pc, sp, fp;

	if (pa_walk_word(w, &fp, w->sp + PA_SIGNAL_X86_FP) ||
	    pa_walk_word(w, &sp, w->sp + PA_SIGNAL_X86_SP) ||
	    pa_walk_word(w, &pc, w->sp + PA_SIGNAL_X86_PC))
		return pa_walk_end(w, PA_STOP_STACK_FAULT);
	w->has_fp = 1;
	return pa_walk_enter(w, pc, sp, fp, 1);
}

#endif
