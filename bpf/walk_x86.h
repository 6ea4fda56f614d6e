/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* x86-64: registers and the kernel's signal frame. Included by walk.h. */
#ifndef BPF_WALK_X86_H
#define BPF_WALK_X86_H

#define PA_REG_SP PA_REG_X86_SP
#define PA_REG_FP PA_REG_X86_FP

PA_INLINE __u64 pa_strip_pac(struct pa_walk *w, __u64 pc)
{
	(void)w;
	return pc;
}

/* The interrupted registers are above sp. A handler on an alternate stack makes sp jump to another
 * stack. */
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

/* Instructions as bytes in memory, the first byte lowest. */
#define PA_X86_ENDBR64 0xfa1e0ff3u
#define PA_X86_PUSH_FP 0x55u
#define PA_X86_REX_B 0x41u /* before PA_X86_PUSH_FP: together push %r13 */
#define PA_X86_RET 0xc3u
#define PA_X86_RET_N 0xc2u
#define PA_X86_REP_RET 0xc3f3u
#define PA_X86_JMP_MEM 0x25ffu /* jmp *disp(%rip), as in PLT stubs */
#define PA_X86_BND_JMP_MEM 0x25fff2u
#define PA_X86_CALL 0xe8u
#define PA_X86_CALL_INDIRECT 0x10ffu /* and the significant bits of the second byte */
#define PA_X86_CALL_INDIRECT_MASK 0x38ffu
#define PA_X86_NO_BASE 0x14u /* there may be no base register, only an index and an offset */
#define PA_X86_NOP 0x90u
#define PA_X86_MOV_SIGRETURN_RAX 0x0000000fc0c748ull /* mov $15,%rax */
#define PA_X86_MOV_SIGRETURN_EAX 0x0000000fb8ull     /* mov $15,%eax */

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
	    (code & 0xffff) == PA_X86_REP_RET || (__u32)code == PA_X86_ENDBR64 ||
	    (code & 0xffff) == PA_X86_JMP_MEM || (code & 0xffffff) == PA_X86_BND_JMP_MEM)
		return PA_RECORD_NONE;
	if ((code & 0xff) == PA_X86_PUSH_FP)
		return pa_is_mov_sp_fp(code >> 8) ? PA_RECORD_NONE : PA_RECORD_AT_FP;
	if (!pa_is_mov_sp_fp(code))
		return PA_RECORD_AT_FP;
	before = pa_code_before(w, w->pc) >> 48;
	return before >> 8 == PA_X86_PUSH_FP && (before & 0xff) != PA_X86_REX_B ? PA_RECORD_AT_SP
										: PA_RECORD_AT_FP;
}

/* The length of an indirect call, by its ModRM byte. */
PA_INLINE __u32 pa_call_bytes(__u32 operand)
{
	__u32 mod = operand >> 6, rm = operand & 7;
	__u32 nr = 2 + (mod != 3 && rm == 4);

	if (mod == 1)
		return nr + 1;
	return mod == 2 || (mod == 0 && rm == 5) ? nr + 4 : nr;
}

/* True if a call of nr bytes ends with these 8 bytes. */
PA_INLINE int pa_is_call_indirect(__u64 before, __u32 nr)
{
	__u32 code = (__u32)(before >> (64 - 8 * nr)) & 0xffff;

	return (code & PA_X86_CALL_INDIRECT_MASK) == PA_X86_CALL_INDIRECT &&
	       (pa_call_bytes(code >> 8) == nr || (code >> 8 == PA_X86_NO_BASE && nr == 7));
}

PA_INLINE int pa_is_behind_call(__u64 before)
{
	return (before >> 24 & 0xff) == PA_X86_CALL || pa_is_call_indirect(before, 2) ||
	       pa_is_call_indirect(before, 3) || pa_is_call_indirect(before, 4) ||
	       pa_is_call_indirect(before, 6) || pa_is_call_indirect(before, 7);
}

/* push %rbp; mov %rsp,%rbp: possibly after endbr64, or after HotSpot's stack bang, mov
 * %eax,-N(%rsp). */
#define PA_X86_TOUCH_SP 0x248489u

PA_INLINE int pa_keeps_fp(struct pa_walk *w, __u64 start)
{
	__u64 code = pa_code_from(w, start);

	if ((__u32)code == PA_X86_ENDBR64)
		code = pa_code_from(w, start + 4);
	else if ((code & 0xffffff) == PA_X86_TOUCH_SP)
		code = pa_code_from(w, start + 7);
	return (code & 0xff) == PA_X86_PUSH_FP && pa_is_mov_sp_fp(code >> 8);
}

#define PA_X86_JMP 0xe9u

/* True if a call to start may end up in code without a rule: directly, or by a jump. */
PA_INLINE int pa_leads_to_bare(struct pa_walk *w, __u64 start)
{
	__u64 code = pa_code_from(w, start);
	pa_rule rule;

	if (pa_walk_rule(w, start, &rule) || PA_RULE_CFA_KIND(rule) == PA_CFA_NONE ||
	    PA_RULE_CFA_KIND(rule) == PA_CFA_PLT)
		return 1;
	return (__u32)code == PA_X86_ENDBR64
		       ? (code >> 32 & 0xff) == 0xf2 || (code >> 32 & 0xff) == 0xff
		       : (code & 0xff) == PA_X86_JMP || (code & 0xffff) == PA_X86_JMP_MEM;
}

/* An upper bound for the size of the running function. */
#define PA_MAX_FUNCTION 0x10000u

/* True if pc may be the return address of a function that has no rule and keeps no frame pointer,
 * going by the call before it. A direct call shows its callee, which must have neither. Exception:
 * the running function has no record any more after its pop %rbp, and its return address is on top
 * of the stack. */
PA_INLINE int pa_may_skip_to(struct pa_walk *w, __u64 pc, __u64 addr, int is_bare)
{
	__u64 before = pa_code_before(w, pc), start = pc + (__u64)(__s64)(__s32)(before >> 32);

	if ((before >> 24 & 0xff) == PA_X86_CALL) {
		if (w->is_exact && addr == w->sp && w->pc - start < PA_MAX_FUNCTION)
			return 1;
		return pa_leads_to_bare(w, start) && !pa_keeps_fp(w, start);
	}
	return is_bare || pa_is_behind_call(before);
}

PA_INLINE int pa_is_sigreturn(__u64 code)
{
	return (code & 0xffffffffffffffull) == PA_X86_MOV_SIGRETURN_RAX ||
	       (code & 0xffffffffffull) == PA_X86_MOV_SIGRETURN_EAX;
}

/* Goroutines return to the address after a nop in runtime.goexit. */
PA_INLINE int pa_is_goexit(__u64 before, __u64 code)
{
	return before >> 56 == PA_X86_NOP && (code & 0xff) == PA_X86_CALL;
}

/* By the return address on top of the stack. */
PA_INLINE int pa_walk_called(struct pa_walk *w)
{
	__u64 pc;

	if (pa_walk_word(w, &pc, w->sp))
		return pa_walk_end(w, PA_STOP_STACK_FAULT);
	return pa_walk_enter(w, pc, w->sp + 8, w->fp, 0);
}

#endif
