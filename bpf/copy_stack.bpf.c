// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Copies of stacks, for walks that user space finishes. */
#include "copy_stack.bpf.h"
#include "lookup.bpf.h"

#include <bpf/bpf_core_read.h>

static __always_inline long send_page(struct pa_page_scratch *p, u64 addr, u32 size)
{
	size &= PA_STACK_PAGE_BYTES * 2 - 1;
	if (size > PA_STACK_PAGE_BYTES)
		size = PA_STACK_PAGE_BYTES;
	p->stop = PA_STOP_STACK_FAULT;
	if (bpf_probe_read_user(p->page.bytes, size, (const void *)addr))
		return 0; /* a page that was never touched, inside a big frame or past the end */
	p->stop = PA_STOP_BIG_STACK;
	p->page.addr = addr;
	p->page.size = size;
	return bpf_ringbuf_output(&ring, &p->page, sizeof(p->page) + size, BPF_RB_NO_WAKEUP);
}

/* A signal stack as set by sigaltstack(), and as stored by the kernel in a signal frame, at
 * UC_STACK_AT in its ucontext. */
struct pa_alt_stack {
	u64 start;
	u64 flags;
	u64 bytes;
};
#define UC_STACK_AT 16

/*
 * Looks for a signal frame in the page read last, which belongs to an alternate signal stack: the
 * frame holds the stack pointer of the stack that was left. (A frame that returns to the same stack
 * is ignored.) The kernel aligns a ucontext to UC_ALIGN, so only those addresses are examined. A
 * global function, so that the verifier checks it once and not once per page; without a branch in
 * the loop, so that it sees one path.
 */
__attribute__((noinline)) int pa_find_interrupted(u32 level)
{
	struct pa_page_scratch *p = bpf_map_lookup_elem(&page_scratch, &level);
	struct pa_alt_stack alt = {};
	const char *at;
	u64 sp = 0, hit, size, first;

	if (!p)
		return 0;
	size = p->page.size;
	first = (UC_STACK_AT - p->page.addr) & (UC_ALIGN - 8);
	hit = size - UC_STACK_AT; /* if the page has none: one may be split across the next page */
	for (u64 i = 0; i < PA_STACK_PAGE_BYTES; i += UC_ALIGN) {
		u64 start_at = first + i, bytes_at = start_at + 16, differ, negated, behind, is_it;

		PA_PIN(start_at); /* old verifiers forget the bounds of spilled values */
		PA_PIN(bytes_at);
		start_at &= PA_STACK_PAGE_BYTES - 8;
		bytes_at &= PA_STACK_PAGE_BYTES - 8;
		differ = (*(u64 *)(p->page.bytes + start_at) ^ p->alt_start) |
			 (*(u64 *)(p->page.bytes + bytes_at) ^ p->alt_bytes);
		negated = -differ;
		behind = start_at - size;
		PA_PIN(negated); /* otherwise the compiler turns comparisons into branches */
		PA_PIN(behind);
		is_it = (u64)((__s64)(~(differ | negated) & behind) >> 63);
		PA_PIN(is_it);
		hit = (hit & ~is_it) | (start_at & is_it);
		PA_PIN(hit);
	}
	at = (const char *)p->page.addr + hit;
	if (bpf_probe_read_user(&alt, sizeof(alt), at) || alt.start != p->alt_start ||
	    alt.bytes != p->alt_bytes ||
	    bpf_probe_read_user(&sp, sizeof(sp), at - UC_STACK_AT + UC_SP_AT))
		return 0;
	if (sp - p->alt_start >= p->alt_bytes)
		p->other = sp;
	return 0;
}

/* How much of a stack is copied: half of the maximum if a second stack is to follow. */
static __always_inline void find_end(struct pa_page_scratch *p, struct task_struct *task,
				     bool is_half)
{
	p->end = stack_end(task, p->at);
	if (is_half && (!p->end || p->end - p->at > PA_STACK_MAX_BYTES / 2)) {
		p->end = p->at + PA_STACK_MAX_BYTES / 2;
		p->stop_at_end = PA_STOP_BIG_STACK;
	}
}

#define LEFT_MAX_RECORDS 64
#define LEFT_REST_BYTES 256 /* above the last record: what its function keeps there */

/* Runtimes of languages other than C run on their own stacks, and their frame records lead back to
 * the stack that was left: the used parts of both stacks are copied. In other code fp may hold
 * anything, so nothing is looked for. */
__attribute__((noinline)) int pa_find_left_stack(u32 level)
{
	struct pa_page_scratch *p = bpf_map_lookup_elem(&page_scratch, &level);
	struct pa_scratch *s = bpf_map_lookup_elem(&scratch, &level);
	u64 fp, left, record[2] = {};

	if (!p || !s || !s->walk.is_bare)
		return 0;
	fp = s->walk.fp;
	for (u32 i = 0; i < LEFT_MAX_RECORDS; i++) {
		if (fp - p->at >= PA_STACK_MAX_BYTES || (fp & 7) ||
		    bpf_probe_read_user(&record, sizeof(record), (const void *)fp))
			return 0;
		if (record[0] - p->at >= PA_STACK_MAX_BYTES)
			break;
		fp = record[0];
	}
	left = record[0];
	if (left - p->at < PA_STACK_MAX_BYTES || (left & 7) ||
	    bpf_probe_read_user(&record, sizeof(record), (const void *)left) ||
	    pa_walk_code_kind(&s->walk, record[1] - 1) == PA_CODE_NONE)
		return 0;
	p->other = left;
	p->end = fp + LEFT_REST_BYTES;
	p->stop_at_end = PA_STOP_BIG_STACK;
	return 0;
}

/* Fills in what is known of the stack that sp is on. */
static __always_inline void find_stack(struct pa_page_scratch *p, struct task_struct *task, u64 sp,
				       u32 level)
{
	p->at = sp;
	p->end = 0;
	p->other = 0;
	p->other_end = 0;
	p->stop_at_end = PA_STOP_STACK_FAULT;
	p->alt_start = BPF_CORE_READ(task, sas_ss_sp);
	p->alt_bytes = BPF_CORE_READ(task, sas_ss_size);
	if (sp - p->alt_start < p->alt_bytes) {
		p->end = p->alt_start + p->alt_bytes;
		return;
	}
	p->alt_bytes = 0;
	pa_find_go_stack(level);
	if (!p->end && !p->other)
		pa_find_left_stack(level);
	if (!p->end)
		find_end(p, task, p->other != 0);
}

/* Copying begins at the red zone, which is below sp. */
__attribute__((noinline)) int pa_begin_stack(u32 level, u64 sp)
{
	struct pa_page_scratch *p = bpf_map_lookup_elem(&page_scratch, &level);

	if (!p)
		return 0;
	find_stack(p, (void *)bpf_get_current_task(), sp, level);
	p->at -= PA_RED_ZONE_BYTES;
	return 0;
}

/* Continues with the stack that was left for the current one. */
static __always_inline bool next_stack(struct pa_page_scratch *p)
{
	if (!p->other)
		return false;
	p->at = p->other;
	p->end = p->other_end;
	p->stop_at_end = p->end ? PA_STOP_BIG_STACK : PA_STOP_STACK_FAULT;
	if (!p->end)
		find_end(p, (void *)bpf_get_current_task(), true);
	p->other = 0;
	p->alt_bytes = 0;
	return true;
}

/* Sends one page. A global function, so that the verifier checks it once. Returns 1 while there may
 * be another page. */
__attribute__((noinline)) int pa_send_next_page(u32 level)
{
	struct pa_page_scratch *p = bpf_map_lookup_elem(&page_scratch, &level);
	u32 size;

	if (!p)
		return 0;
	p->stop = PA_STOP_BUDGET;
	if (proc_stats.stack_budget < 0)
		return 0;
	if (p->end && p->at >= p->end && !next_stack(p)) {
		p->stop = p->stop_at_end;
		return 0;
	}
	size = PA_STACK_PAGE_BYTES - ((u32)p->at & (PA_STACK_PAGE_BYTES - 1));
	__sync_fetch_and_add(&proc_stats.stack_budget, -(__s64)size);
	if (send_page(p, p->at, size)) {
		p->stop = PA_STOP_COPY_LOST; /* a short record may still fit into the ring */
		return 0;
	}
	if (p->alt_bytes)
		pa_find_interrupted(level);
	p->at += size;
	return 1;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
