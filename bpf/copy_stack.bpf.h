/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Walks that user space can finish: it knows mappings, compiles tables and evaluates rules that the
 * walker in the kernel cannot. User space needs the registers and the stack; both are sent, the
 * stack within a budget of bytes.
 */
#ifndef BPF_COPY_STACK_BPF_H
#define BPF_COPY_STACK_BPF_H

#include "code.h"
#include "go_thread.bpf.h"
#include "regs.bpf.h"
#include "walk.bpf.h"

/* copy_stack.bpf.c: global functions, verified once each. */
int pa_begin_stack(u32 level, u64 sp);
int pa_send_next_page(u32 level);

/* A walk that is sent again and again, and still ends in code that user space does not know or has
 * no rules for, has gone wrong. A process with only such walks must not use up the common budget,
 * so no more than this many are sent for one list of mappings. A new list resets the count: user
 * space publishes one as long as it can finish walks. */
#define MAX_MISSES 256

static __always_inline bool has_missed_often(const struct pa_scratch *s)
{
	u32 pid = s->sample.head.pid;
	struct pa_process *p = bpf_map_lookup_elem(&processes, &pid);

	if (!p || p->generation != s->sample.generation)
		return false;
	if (p->nr_misses >= MAX_MISSES)
		return true;
	p->nr_misses++;
	return false;
}

/* True if no table or mapping is missing that user space could publish: only a walk in user space
 * gets further. */
static __always_inline bool pa_is_for_walker(u8 stop)
{
	return stop == PA_STOP_HARD_RULE || stop == PA_STOP_NO_RECORD || stop == PA_STOP_FP_END;
}

static __always_inline bool pa_can_be_finished(const struct pa_scratch *s)
{
	u8 stop = s->sample.stop;

	if (!cfg.use_tables)
		return false;
	if (stop == PA_STOP_UNKNOWN_CODE)
		return !has_missed_often(s);
	if (stop == PA_STOP_NO_RECORD || (stop == PA_STOP_FP_END && s->walk.is_bare))
		return PA_CAN_FOLLOW_CODE && !has_missed_often(s);
	return stop == PA_STOP_NO_PROCESS || stop == PA_STOP_NO_TABLE || stop == PA_STOP_HARD_RULE;
}

#define GO_WORDS_END (3 + PA_NR_REGS + sizeof(struct pa_go) / sizeof(u64))

/* Adds the sampled registers and the code at pc, at the cursor. User space walks again from the
 * leaf, and falls back to the frames that this walk has found. */
static __always_inline void pa_add_regs(struct pa_scratch *s, u64 pc)
{
	u64 *to = &s->words[s->at & (PA_WORD_SLOTS - 1)];

	to[0] = pc;
	to[1] = s->walk.regs[PA_SP_AT];
	to[2] = s->walk.lr;
	__builtin_memcpy(to + 3, s->walk.regs, sizeof(s->walk.regs));
	pa_find_go(s->walk.level);
	__builtin_memcpy(to + 3 + PA_NR_REGS, &s->walk.go, sizeof(s->walk.go));
	to[GO_WORDS_END] = pa_code_before(&s->walk, pc);
	to[GO_WORDS_END + 1] = pa_code_from(&s->walk, pc);
}

static __always_inline void end_stack(struct pa_page_scratch *p)
{
	struct pa_stack_end end = {
		.head = p->page.head, .cpu = p->page.cpu, .serial = p->page.serial, .stop = p->stop
	};

	end.head.type = PA_RECORD_STACK_END;
	bpf_ringbuf_output(&ring, &end, sizeof(end),
			   BPF_RB_NO_WAKEUP); /* user space handles a missing one: see abi.h */
}

/* Sends the pages upwards from the red zone below sp. Unreadable pages are skipped, since the next
 * may be readable. */
static __always_inline void pa_send_stack(struct pa_scratch *s)
{
	u32 level = s->walk.level;
	struct pa_page_scratch *p = bpf_map_lookup_elem(&page_scratch, &level);

	if (!p)
		return; /* impossible: there is one for each level */
	p->page.head = s->sample.head;
	p->page.head.type = PA_RECORD_STACK;
	p->page.cpu = s->sample.cpu;
	p->page.serial = s->sample.serial;
	pa_begin_stack(level, s->walk.regs[PA_SP_AT]);
	for (u32 i = 0; i < PA_STACK_MAX_PAGES; i++)
		if (!pa_send_next_page(level))
			break;
	end_stack(p);
}

#endif
