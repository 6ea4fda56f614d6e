/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* AArch64: registers, pointer authentication and the kernel's signal frame. Included by walk.h. */
#ifndef BPF_WALK_ARM64_H
#define BPF_WALK_ARM64_H

#define PA_REG_SP PA_REG_ARM64_SP
#define PA_REG_FP PA_REG_ARM64_FP

/* The bits that hold the address; a PAC is in the bits above (bit 55 tells the halves of the
 * address space apart). */
#define PA_ARM64_VA_MASK ((1ull << 48) - 1)

PA_INLINE __u64 pa_strip_pac(struct pa_walk *w, __u64 pc)
{
	(void)w;
	return pc & PA_ARM64_VA_MASK;
}

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

#define PA_ARM64_BTI_C 0xd503245fu
#define PA_ARM64_PACIASP 0xd503233fu
#define PA_ARM64_AUTIASP 0xd50323bfu
#define PA_ARM64_MOV_FP_SP 0x910003fdu
#define PA_ARM64_RET 0xd65f03c0u
#define PA_ARM64_RETAA 0xd65f0bffu
#define PA_ARM64_NOP 0xd503201fu
#define PA_ARM64_MOV_SIGRETURN 0xd2801168u /* mov x8, #139 */

/* stp x29,x30,[sp,#-N]! */
PA_INLINE int pa_is_push_record(__u32 code)
{
	return (code & 0xffe07fff) == 0xa9a07bfd;
}

PA_INLINE __u32 pa_record_at(struct pa_walk *w)
{
	__u64 both = pa_code_from(w, w->pc);
	__u32 code = (__u32)both;

	if (code == PA_ARM64_RET || code == PA_ARM64_RETAA || code == PA_ARM64_AUTIASP ||
	    code == PA_ARM64_BTI_C || code == PA_ARM64_PACIASP || pa_is_push_record(code))
		return PA_RECORD_NONE;
	if (code == PA_ARM64_MOV_FP_SP &&
	    pa_is_push_record((__u32)(pa_code_before(w, w->pc) >> 32)))
		return PA_RECORD_AT_SP;
	return PA_RECORD_AT_FP;
}

PA_INLINE int pa_is_bl(__u32 code)
{
	return (code & 0xfc000000) == 0x94000000;
}

/* bl; blr; and blraa to blrabz, which authenticate */
PA_INLINE int pa_is_behind_call(__u64 before)
{
	__u32 code = (__u32)(before >> 32);

	return pa_is_bl(code) || (code & 0xfffffc1f) == 0xd63f0000 ||
	       (code & 0xfefff800) == 0xd63f0800;
}

/* True if pc may be the return address of a function that keeps no frame record, going by the call
 * before it. All compilers keep one, so false if the call does not show its callee. */
PA_INLINE int pa_may_skip_to(struct pa_walk *w, __u64 pc, __u64 addr, int is_bare)
{
	__u32 call = (__u32)(pa_code_before(w, pc) >> 32), first;
	__u64 code;

	(void)addr, (void)is_bare;
	if (!pa_is_bl(call))
		return 0;
	code = pa_code_from(w, pc - 4 + (__u64)((__s64)((__u64)call << 38) >> 36));
	first = (__u32)code;
	if (first == PA_ARM64_BTI_C || first == PA_ARM64_PACIASP)
		first = (__u32)(code >> 32);
	return !pa_is_push_record(first);
}

PA_INLINE int pa_is_sigreturn(__u64 code)
{
	return (__u32)code == PA_ARM64_MOV_SIGRETURN;
}

/* Goroutines return to the address after a nop in runtime.goexit. */
PA_INLINE int pa_is_goexit(__u64 before, __u64 code)
{
	return before >> 32 == PA_ARM64_NOP && pa_is_bl((__u32)code);
}

/* By the link register, which still holds the return address. */
PA_INLINE int pa_walk_called(struct pa_walk *w)
{
	if (!w->has_lr)
		return pa_walk_end(w, PA_STOP_FP_END);
	return pa_walk_enter(w, pa_strip_pac(w, w->lr), w->sp, w->fp, 0);
}

#endif
