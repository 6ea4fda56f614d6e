/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Walks that user space can finish: it knows mappings, compiles tables and carries rules that a walk
 * here cannot. What it needs is the registers and the stack; both are sent along, the stack under a
 * budget of bytes.
 */
#ifndef BPF_FINISH_BPF_H
#define BPF_FINISH_BPF_H

#include "maps.bpf.h"

static __always_inline bool pa_is_curable(const struct pa_scratch *s)
{
	u8 stop = s->sample.stop;

	return cfg.use_tables && (stop == PA_STOP_NO_PROCESS || stop == PA_STOP_UNKNOWN_CODE ||
				  stop == PA_STOP_NO_TABLE || stop == PA_STOP_HARD_RULE);
}

/* The sampled registers behind the pcs, which by then hold the leaf alone: what was walked is walked
 * again. Returns their size. */
static __always_inline u64 pa_add_regs(struct pa_scratch *s)
{
	u32 at = (s->sample.nr_kernel + s->sample.nr_user) & (PA_PCS_SLOTS - 1);
	u64 *to = &s->sample.pcs[at];

	to[0] = s->sample.pcs[s->sample.nr_kernel & (PA_PCS_SLOTS - 1)] & ~PA_PC_EXACT;
	to[1] = s->walk.regs[PA_SP_AT];
	to[2] = s->walk.lr;
	__builtin_memcpy(to + 3, s->walk.regs, sizeof(s->walk.regs));
	return sizeof(struct pa_stack_regs);
}

static __always_inline long send_page(struct pa_page_scratch *p, u64 addr, u32 size)
{
	size &= PA_STACK_PAGE_BYTES * 2 - 1;
	if (size > PA_STACK_PAGE_BYTES)
		size = PA_STACK_PAGE_BYTES;
	if (bpf_probe_read_user(p->page.bytes, size, (const void *)addr))
		return 0; /* a page that was never touched, inside a big frame or past the end */
	p->page.addr = addr;
	p->page.size = size;
	return bpf_ringbuf_output(&ring, p, sizeof(p->page) + size, BPF_RB_NO_WAKEUP);
}

/* Where the stack is known to end: the first thread's where its program began, another one's at its
 * thread pointer; 0: not known. */
static __always_inline u64 stack_end(struct task_struct *task, u64 sp)
{
	u64 first = BPF_CORE_READ(task, mm, start_stack), own = task_thread_pointer(task);

	if (own > sp && own - sp < PA_STACK_MAX_BYTES)
		return own;
	return first > sp && first - sp < PA_STACK_MAX_BYTES ? first : 0;
}

/* Page by page from sp up: pages that cannot be read are left out, the next may be readable. */
static __always_inline void pa_send_stack(struct pa_scratch *s, struct task_struct *task)
{
	u32 zero = 0;
	struct pa_page_scratch *p = bpf_map_lookup_elem(&page_scratch, &zero);
	u64 at = s->walk.regs[PA_SP_AT], end = stack_end(task, at);

	if (!p)
		return; /* cannot be: an array's element 0 exists */
	p->page.head = s->sample.head;
	p->page.head.type = PA_RECORD_STACK;
	p->page.cpu = s->sample.cpu;
	for (u32 i = 0; i < PA_STACK_MAX_PAGES; i++) {
		u32 size = PA_STACK_PAGE_BYTES - ((u32)at & (PA_STACK_PAGE_BYTES - 1));

		if (proc_stats.stack_budget < 0 || (end && at >= end))
			return;
		__sync_fetch_and_add(&proc_stats.stack_budget, -(__s64)size);
		if (send_page(p, at, size))
			return; /* the ring is full */
		at += size;
	}
}

#endif
