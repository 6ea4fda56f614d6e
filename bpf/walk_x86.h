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

/* Instructions as they lie in memory, the first byte lowest. */
#define PA_X86_ENDBR64 0xfa1e0ff3u
#define PA_X86_PUSH_FP 0x55u
#define PA_X86_REX_B 0x41u /* before it: push %r13 */
#define PA_X86_RET 0xc3u
#define PA_X86_RET_N 0xc2u
#define PA_X86_REP_RET 0xc3f3u

/* mov %rsp,%rbp, in either of its encodings */
PA_INLINE int pa_is_mov_sp_fp(__u64 code)
{
	return (code & 0xffffff) == 0xe58948 || (code & 0xffffff) == 0xec8b48;
}

PA_INLINE __u32 pa_record_at(struct pa_walk *w)
{
	__u64 code = pa_code_from(w, w->pc);
	__u64 before;

	if ((code & 0xff) == PA_X86_RET || (code & 0xff) == PA_X86_RET_N ||
	    (code & 0xffff) == PA_X86_REP_RET)
		return PA_RECORD_NONE;
	if ((__u32)code == PA_X86_ENDBR64)
		code >>= 32;
	if ((code & 0xff) == PA_X86_PUSH_FP)
		return pa_is_mov_sp_fp(code >> 8) ? PA_RECORD_NONE : PA_RECORD_AT_FP;
	if (!pa_is_mov_sp_fp(code))
		return PA_RECORD_AT_FP;
	before = pa_code_before(w, w->pc) >> 48;
	return before >> 8 == PA_X86_PUSH_FP && (before & 0xff) != PA_X86_REX_B ? PA_RECORD_AT_SP
										: PA_RECORD_AT_FP;
}

/* The return address is on top of the stack. */
PA_INLINE int pa_walk_called(struct pa_walk *w)
{
	__u64 pc;

	if (pa_walk_word(w, &pc, w->sp))
		return pa_walk_end(w, PA_STOP_STACK_FAULT);
	return pa_walk_enter(w, pc, w->sp + 8, w->fp, 0);
}

#endif
