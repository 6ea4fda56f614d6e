/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one walker over user stacks, in plain C: the kernel runs it frame by frame (walk.bpf.c); the
 * host compiles it for tests and to finish walks that the kernel could not.
 *
 * walk_policy.h decides how a frame is left. This header implements what that needs for three
 * registers (sp, fp, lr): the stack read through a window, and the rules of a table (rows.h).
 */
#ifndef BPF_WALK_H
#define BPF_WALK_H

#include "code.h"
#include "walk_policy.h"

/* The words that a frame saves for its caller are right below its CFA, and those of the next frames
 * are above, so all are read at once. */
#define PA_KEPT_BYTES 64

/* True if the window has the bytes from that address on. */
PA_INLINE int pa_is_in_window(const struct pa_walk *w, __u64 addr, __u32 bytes)
{
	return w->window_at && addr - w->window_at <= (__u64)w->window_bytes - bytes;
}

/* The size of the next window. */
PA_INLINE __u32 pa_next_window_bytes(const struct pa_walk *w)
{
	__u32 bytes = w->window_bytes * 2;

	if (bytes < PA_FIRST_WINDOW_BYTES)
		return PA_FIRST_WINDOW_BYTES;
	return bytes < PA_WINDOW_BYTES ? bytes : PA_WINDOW_BYTES;
}

PA_INLINE void pa_walk_read_window(struct pa_walk *w, __u64 from, __u32 bytes)
{
	PA_PIN(bytes);
	if (bytes > PA_WINDOW_BYTES)
		bytes = PA_WINDOW_BYTES;
	w->window_at = pa_walk_read(w, w->window, bytes, from) ? 0 : from;
	w->window_bytes = bytes;
}

/* Reads the window around that address. Near the end of a stack, only the rest of its last page can be
 * read. If not even that, words are read one by one. */
PA_INLINE void pa_walk_load_window(struct pa_walk *w, __u64 frame_end)
{
	__u64 from = frame_end - PA_KEPT_BYTES;
	__u32 bytes = pa_next_window_bytes(w);
	__u32 rest = PA_KEPT_BYTES + (-(__u32)frame_end & (PA_STACK_PAGE_BYTES - 1));

	pa_walk_read_window(w, from, bytes);
	if (!w->window_at && rest < bytes)
		pa_walk_read_window(w, from, rest);
}

PA_INLINE void pa_walk_fill_window(struct pa_walk *w, __u64 frame_end)
{
	if (pa_is_in_window(w, frame_end - PA_KEPT_BYTES, PA_KEPT_BYTES))
		return;
#ifdef __bpf__
	pa_walk_load(w->level, frame_end); /* a global function: see walk.bpf.c */
#else
	pa_walk_load_window(w, frame_end);
#endif
}

/* Word nr of the window; the caller has checked that the window has it. */
PA_INLINE __u64 pa_window_word(const struct pa_walk *w, __u64 nr)
{
	return w->window[nr & (PA_WINDOW_BYTES / sizeof(w->window[0]) - 1)];
}

/* A word of the target's memory, usually of the stack. Aligned to the window's words, because the
 * compiler would assemble an unaligned word from bytes. */
PA_INLINE int pa_walk_word(struct pa_walk *w, __u64 *to, __u64 addr)
{
	__u64 at = addr - w->window_at;

	if (pa_is_in_window(w, addr, sizeof(*to)) && !(at & (sizeof(*to) - 1))) {
		PA_PIN(at);
		*to = pa_window_word(w, at / sizeof(*to));
		return 0;
	}
	return pa_walk_read(w, to, sizeof(*to), addr);
}

#include "walk_arch.h"

/* A register by its DWARF number: sp and fp as far as they are known, others in a frame whose
 * registers are all known. */
PA_INLINE int pa_walk_reg(struct pa_walk *w, __u32 reg, __u64 *value)
{
	if (reg == PA_REG_SP) {
		*value = w->sp;
		return 0;
	}
	if (reg == PA_REG_FP && w->has_fp) {
		*value = w->fp;
		return 0;
	}
	*value = w->regs[reg & (PA_NR_REGS - 1)];
	return w->has_regs && reg != PA_REG_FP ? 0 : -1;
}

/* Computes the CFA by a rule; returns 0 or a stop reason. */
PA_INLINE __u32 pa_walk_cfa(struct pa_walk *w, pa_rule rule, __u64 *cfa)
{
	__u32 kind = PA_RULE_CFA_KIND(rule);
	__u64 base;

	if (kind == PA_CFA_PLT) {
		*cfa = w->sp + 8 + ((w->pc & 15) >= (__u64)PA_RULE_CFA_OFF(rule) ? 8 : 0);
		return 0;
	}
	if (pa_walk_reg(w, PA_RULE_CFA_REG(rule), &base))
		return PA_STOP_HARD_RULE;
	if (kind == PA_CFA_REG) {
		*cfa = base + (__u64)PA_RULE_CFA_OFF(rule);
		return 0;
	}
	if (pa_walk_word(w, cfa, base + (__u64)PA_RULE_DEREF_OFF(rule)))
		return PA_STOP_STACK_FAULT;
	*cfa += (__u64)PA_RULE_DEREF_ADD(rule);
	return 0;
}

/* True for a slot below sp at a return address: that is the red zone, which the call has
 * overwritten. The register is unchanged then. */
PA_INLINE int pa_is_overwritten(__u64 slot, __u64 sp, int is_exact)
{
	return slot < sp && !is_exact;
}

/* Stores the caller's frame pointer in *fp; returns 0 or a stop reason. */
PA_INLINE __u32 pa_walk_caller_fp(struct pa_walk *w, pa_rule rule, __u64 cfa, __u64 *fp)
{
	__u32 kind = PA_RULE_FP_KIND(rule);
	__u64 at = cfa + (__u64)(PA_RULE_RA_KIND(rule) == PA_RA_BOTH ? PA_RULE_BOTH_FP(rule)
								     : PA_RULE_SLOT(rule));

	*fp = w->fp;
	if (kind == PA_FP_LOST)
		w->has_fp = 0;
	if (kind == PA_FP_AT_FP) {
		if (!w->has_fp)
			return PA_STOP_HARD_RULE;
		at = w->fp + (__u64)PA_RULE_SLOT(rule);
		/* Compilers leave the rule in force after the instruction that restores the
		 * register: a slot outside this frame means that the register is already the
		 * caller's. */
		if (at < w->sp || at >= cfa)
			return 0;
	}
	if (kind == PA_FP_SAME || kind == PA_FP_LOST || pa_is_overwritten(at, w->sp, w->is_exact))
		return 0;
	w->has_fp = 1;
	return pa_walk_word(w, fp, at) ? PA_STOP_STACK_FAULT : 0;
}

/* Stores the return address in *pc; returns 0 or a stop reason. */
PA_INLINE __u32 pa_walk_caller_pc(struct pa_walk *w, pa_rule rule, __u64 cfa, __u64 *pc)
{
	__u32 kind = PA_RULE_RA_KIND(rule);
	__u64 at = cfa - 8;

	if (kind == PA_RA_LR) {
		*pc = w->lr;
		return w->has_lr ? 0 : PA_STOP_HARD_RULE;
	}
	if (kind == PA_RA_REG)
		return pa_walk_reg(w, PA_RULE_RA_REG(rule), pc) ? PA_STOP_HARD_RULE : 0;
	if (kind == PA_RA_AFTER_FP)
		at = cfa + (__u64)PA_RULE_SLOT(rule) + 8;
	else if (kind == PA_RA_AT_CFA)
		at = cfa + (__u64)PA_RULE_SLOT(rule);
	else if (kind == PA_RA_BOTH)
		at = cfa + (__u64)PA_RULE_BOTH_RA(rule);
	return pa_walk_word(w, pc, at) ? PA_STOP_STACK_FAULT : 0;
}

/* True if pc is a plausible return address: after a call, at a sigreturn or goexit stub, or
 * unreadable. */
PA_INLINE int pa_walk_code_returns(struct pa_walk *w, __u64 pc)
{
	__u64 before = pa_code_before(w, pc), code;
	__u8 last;

	if (pa_is_behind_call(before))
		return 1;
	if (!before && pa_walk_read(w, &last, sizeof(last), pc - 1))
		return 1;
	code = pa_code_from(w, pc);
	return pa_is_sigreturn(code) || pa_is_goexit(before, code);
}

PA_INLINE int pa_can_return_to(struct pa_walk *w, __u64 pc)
{
#ifdef __bpf__
	return pa_returns_to(w->level, pc); /* a global function: see walk.bpf.c */
#else
	return pa_walk_code_returns(w, pc);
#endif
}

/* A stack may be executable and contain addresses into itself: an address near sp is code only if a
 * call precedes it. */
#define PA_STACK_NEAR_BYTES (1u << 20)

/* True if the word may be the return address of a function that keeps no frame record. Interpreters
 * let their generated code return to addresses without a call, and leave a stale copy of such an
 * address on the stack: a word equal to w->pc is skipped, because a recursive frame has another
 * word that shows its caller. */
PA_INLINE int pa_is_return_address(struct pa_walk *w, __u64 word, __u64 addr)
{
	__u32 kind;

	word = pa_strip_pac(w, word);
	if (!pa_is_user_addr(word) || word == w->pc)
		return 0;
	kind = pa_walk_code_kind(w, word - 1);
	return kind != PA_CODE_NONE &&
	       pa_may_skip_to(w, word, addr,
			      kind == PA_CODE_BARE && word - w->sp >= PA_STACK_NEAR_BYTES);
}

/* A gap of more words than this is not searched, and is taken to contain skipped frames; likewise
 * once a walk has searched this many in total, because it runs in an interrupt. */
#ifdef __bpf__
#define PA_MAX_LOOKED_WORDS 128u
#define PA_MAX_LOOKED_IN_ALL 1024u
#define PA_LOOKED_WORDS 8u /* of one call of pa_return_within() */
#else
#define PA_MAX_LOOKED_WORDS 8192u
#define PA_MAX_LOOKED_IN_ALL 16384u
#define PA_LOOKED_WORDS 1u

PA_INLINE int pa_walk_return_at(struct pa_walk *w, __u64 addr)
{
	__u64 word;

	return pa_walk_word(w, &word, addr) || pa_is_return_address(w, word, addr);
}
#endif

/* True if there may be frames of other functions below the record at fp. */
PA_INLINE int pa_walk_may_skip(struct pa_walk *w)
{
	__u64 from = (w->sp + 7) & ~7ull, nr = (w->fp - from) / 8, word;

	if (!w->has_fp || w->fp <= from || (w->fp & 7) || !pa_is_user_addr(w->fp))
		return 0;
	pa_walk_fill_window(w, from + PA_KEPT_BYTES);
	if (pa_walk_word(w, &word, w->fp + 8))
		return 0; /* there is no record */
	if (nr > PA_MAX_LOOKED_WORDS || w->nr_looked + nr > PA_MAX_LOOKED_IN_ALL)
		return 1;
	w->nr_looked += (__u32)nr;
	for (__u32 i = 0; i < PA_MAX_LOOKED_WORDS && i < nr; i += PA_LOOKED_WORDS) {
#ifdef __bpf__
		if (pa_return_within(w->level, from + i * 8ull, w->fp))
			return 1;
#else
		if (pa_walk_return_at(w, from + i * 8ull))
			return 1;
#endif
	}
	return 0;
}

/* Every rule except those that only user space can evaluate. */
PA_INLINE int pa_walk_can_apply(__u32 kind)
{
	return kind != PA_CFA_USER;
}

/* Only sp, fp and lr are tracked. */
PA_INLINE void pa_walk_keep_others(struct pa_walk *w)
{
	(void)w;
}

PA_INLINE int pa_walk_by_rule(struct pa_walk *w, pa_rule rule)
{
	__u64 cfa, fp, pc;
	__u32 stop = pa_walk_cfa(w, rule, &cfa);

	if (stop)
		return pa_walk_end(w, stop);
	pa_walk_fill_window(w, cfa);
	stop = pa_walk_caller_pc(w, rule, cfa, &pc);
	if (!stop)
		stop = pa_walk_caller_fp(w, rule, cfa, &fp);
	/* A leaf that keeps its return address in a register may have no frame at all. */
	if (!stop && (cfa < w->sp || (cfa == w->sp && !w->has_lr)))
		stop = PA_STOP_BAD_FRAME;
	if (stop)
		return pa_walk_end(w, stop);
	if (!pc) /* pushed as 0 by the start of a thread or a fiber: there is no caller */
		return pa_walk_end(w, PA_STOP_END);
	return pa_walk_enter(w, rule & PA_RULE_SIGNED ? pa_strip_pac(w, pc) : pc, cfa, fp,
			     (rule & PA_RULE_SIGNAL) != 0);
}

/* A rule derived from the code itself is accepted if the stack agrees: it leads to a plausible
 * return address. */
PA_INLINE int pa_walk_agrees(struct pa_walk *w, pa_rule rule)
{
	__u64 cfa, pc;
	__u32 kind;

	if (pa_walk_cfa(w, rule, &cfa) || cfa <= w->sp || pa_walk_caller_pc(w, rule, cfa, &pc) ||
	    !pa_is_user_addr(pc))
		return 0;
	kind = pa_walk_code_kind(w, pc - 1);
	return kind == PA_CODE_BARE ||
	       (kind == PA_CODE_TABLE && pa_is_behind_call(pa_code_before(w, pc)));
}

#endif
