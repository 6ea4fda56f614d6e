/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Walks that user space can finish: it knows mappings, compiles tables and carries rules that a walk
 * here cannot. What it needs is the registers and the stack; both are sent along, the stack under a
 * budget of bytes.
 */
#ifndef BPF_FINISH_BPF_H
#define BPF_FINISH_BPF_H

#include "code.h"
#include "lookup.bpf.h"
#include "maps.bpf.h"

/* Walks in code that user space does not know, or that nothing describes, though it was asked so often,
 * are astray: a process that has nothing but such walks must not use up what there is for all. A new
 * list starts anew: user space sends one as long as it can finish them. */
#define MAX_ASTRAY 256

static __always_inline bool is_often_astray(const struct pa_scratch *s)
{
	u32 pid = s->sample.head.pid;
	struct pa_process *p = bpf_map_lookup_elem(&processes, &pid);

	if (!p || p->generation != s->sample.generation)
		return false;
	if (p->nr_astray >= MAX_ASTRAY)
		return true;
	p->nr_astray++;
	return false;
}

/* Nothing is missing that the kernel could be told: only a walk in user space can do it. */
static __always_inline bool pa_is_for_walker(u8 stop)
{
	return stop == PA_STOP_HARD_RULE || stop == PA_STOP_NO_RECORD || stop == PA_STOP_FP_END;
}

static __always_inline bool pa_is_curable(const struct pa_scratch *s)
{
	u8 stop = s->sample.stop;

	if (!cfg.use_tables)
		return false;
	if (stop == PA_STOP_UNKNOWN_CODE)
		return !is_often_astray(s);
	if (stop == PA_STOP_NO_RECORD || (stop == PA_STOP_FP_END && s->walk.is_bare))
		return PA_CAN_FOLLOW_CODE && !is_often_astray(s);
	return stop == PA_STOP_NO_PROCESS || stop == PA_STOP_NO_TABLE || stop == PA_STOP_HARD_RULE;
}

/* The sampled registers and the code there, behind the pcs that the walk has found: user space walks
 * again from the leaf on, and falls back on these. Returns their size. */
static __always_inline u64 pa_add_regs(struct pa_scratch *s)
{
	u32 at = (s->sample.nr_kernel + s->sample.nr_user) & (PA_PCS_SLOTS - 1);
	u64 *to = &s->sample.pcs[at];

	to[0] = s->sample.pcs[s->sample.nr_kernel & (PA_PCS_SLOTS - 1)] & ~PA_PC_EXACT;
	to[1] = s->walk.regs[PA_SP_AT];
	to[2] = s->walk.lr;
	__builtin_memcpy(to + 3, s->walk.regs, sizeof(s->walk.regs));
	to[3 + PA_NR_REGS] = pa_code_before(&s->walk, to[0]);
	to[4 + PA_NR_REGS] = pa_code_from(&s->walk, to[0]);
	return sizeof(struct pa_stack_regs);
}

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

/* Where the stack is known to end: the first thread's where its program began, another one's at its
 * thread pointer; 0: not known. */
static __always_inline u64 stack_end(struct task_struct *task, u64 sp)
{
	u64 first = BPF_CORE_READ(task, mm, start_stack), own = task_thread_pointer(task);

	if (own > sp && own - sp < PA_STACK_MAX_BYTES)
		return own;
	return first > sp && first - sp < PA_STACK_MAX_BYTES ? first : 0;
}

/* As sigaltstack() has it, and as the kernel keeps it in a signal frame, UC_STACK_AT in its ucontext. */
struct pa_alt_stack {
	u64 start;
	u64 flags;
	u64 bytes;
};
#define UC_STACK_AT 16

/*
 * Looks for a signal frame in the page that was read last, which is one of a stack for signal
 * handlers: the frame says which stack was left. One that was made on the same stack does not. The
 * kernel aligns a ucontext to UC_ALIGN: nothing else is looked at. A global function, so that the
 * verifier looks at it once and not once per page; without a branch in the loop, so that it sees one
 * path.
 */
__attribute__((noinline)) int pa_find_interrupted(u32 unused)
{
	u32 zero = 0;
	struct pa_page_scratch *p = bpf_map_lookup_elem(&page_scratch, &zero);
	struct pa_alt_stack alt = {};
	const char *at;
	u64 sp = 0, hit, size, first;

	if (!p)
		return 0;
	size = p->page.size;
	first = (UC_STACK_AT - p->page.addr) & (UC_ALIGN - 8);
	hit = size - UC_STACK_AT; /* if there is none before: half of it may be in the next page */
	for (u64 i = 0; i < PA_STACK_PAGE_BYTES; i += UC_ALIGN) {
		u64 start_at = first + i, bytes_at = start_at + 16, differ, negated, behind, is_it;

		PA_PIN(start_at); /* old verifiers forget the bounds of what went over the stack */
		PA_PIN(bytes_at);
		start_at &= PA_STACK_PAGE_BYTES - 8;
		bytes_at &= PA_STACK_PAGE_BYTES - 8;
		differ = (*(u64 *)(p->page.bytes + start_at) ^ p->alt_start) |
			 (*(u64 *)(p->page.bytes + bytes_at) ^ p->alt_bytes);
		negated = -differ;
		behind = start_at - size;
		PA_PIN(negated); /* or the compiler sees comparisons, and makes branches of them */
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

/* How Go describes a stack and the thread that runs on it (runtime.g), as far as all versions agree. */
struct pa_go_g {
	u64 start, end; /* of the stack */
	u64 skipped[4];
	u64 m; /* the thread */
};
#define GO_MAX_STACK_BYTES (1ull << 30)
#define GO_M_WORDS 32      /* of runtime.m: the first is the thread's own g */
#define GO_M_FIRST_CURG 18 /* the g that it works for is among these, by version */

static __always_inline bool read_go_g(struct pa_go_g *g, u64 addr)
{
	return !bpf_probe_read_user(g, sizeof(*g), (const void *)addr) && g->start < g->end &&
	       g->end - g->start <= GO_MAX_STACK_BYTES;
}

static __always_inline bool is_on(const struct pa_go_g *g, u64 addr)
{
	return addr >= g->start && addr < g->end;
}

/* The goroutine's stack comes along, or the end of it. */
static __always_inline void add_go_stack(struct pa_page_scratch *p, const struct pa_go_g *g)
{
	p->other = g->start;
	if (g->end - g->start > PA_STACK_MAX_BYTES / 2)
		p->other = g->end - PA_STACK_MAX_BYTES / 2;
	p->other_end = g->end;
}

/* The goroutine that a thread works for on its own stack. */
static __always_inline void find_goroutine(struct pa_page_scratch *p, const u64 *m, u64 m_addr)
{
	struct pa_go_g g = {};

	for (u32 i = GO_M_FIRST_CURG; i < GO_M_WORDS; i++) {
		if (!m[i] || m[i] == m[0] || !read_go_g(&g, m[i]) || g.m != m_addr)
			continue;
		add_go_stack(p, &g);
		return;
	}
}

/*
 * Whether this is a thread of Go: then its thread-local word leads to a description of the stack that
 * sp is on, or of one that was left for the thread's own, for a call of the vDSO. Nothing is believed
 * that does not fit together.
 */
__attribute__((noinline)) int pa_find_go_stack(u32 unused)
{
	u32 zero = 0;
	struct pa_page_scratch *p = bpf_map_lookup_elem(&page_scratch, &zero);
	u64 word = task_go_word((void *)bpf_get_current_task()), addr = 0;
	struct pa_go_g g = {}, own = {};
	u64 *m;

	if (!p)
		return 0;
	m = (u64 *)p->page.bytes; /* nobody's yet */
	if (!word || bpf_probe_read_user(&addr, sizeof(addr), (const void *)word) || !addr ||
	    !read_go_g(&g, addr) ||
	    bpf_probe_read_user(m, GO_M_WORDS * sizeof(*m), (const void *)g.m))
		return 0;
	if (is_on(&g, p->at) && m[0] == addr)
		find_goroutine(p, m, g.m);
	else if (is_on(&g, p->at))
		p->end = g.end;
	else if (read_go_g(&own, m[0]) && own.m == g.m && is_on(&own, p->at))
		add_go_stack(p, &g);
	return 0;
}

/* Where a stack is not looked at further; there may be another one, which takes half of the room. */
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
#define LEFT_REST_BYTES 256 /* above the last record: what its function keeps for another one */

/* Runtimes of other languages than C run on stacks of their own, and their frame records lead back to
 * the one that was left: what is in use of both comes along. Elsewhere fp may be anything. */
__attribute__((noinline)) int pa_find_left_stack(u32 unused)
{
	u32 zero = 0;
	struct pa_page_scratch *p = bpf_map_lookup_elem(&page_scratch, &zero);
	struct pa_scratch *s = bpf_map_lookup_elem(&scratch, &zero);
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

/* Where to begin, and what is known of the stack there. */
static __always_inline void begin_stack(struct pa_page_scratch *p, struct task_struct *task, u64 sp)
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
	pa_find_go_stack(0);
	if (!p->end && !p->other)
		pa_find_left_stack(0);
	if (!p->end)
		find_end(p, task, p->other != 0);
}

/* Behind the end of a stack comes the one that was left for it. */
static __always_inline bool next_stack(struct pa_page_scratch *p)
{
	if (!p->other)
		return false;
	p->at = p->other;
	p->end = p->other_end;
	p->stop_at_end = PA_STOP_STACK_FAULT;
	if (!p->end)
		find_end(p, (void *)bpf_get_current_task(), true);
	p->other = 0;
	p->alt_bytes = 0;
	return true;
}

/* One page; a global function for the same reason. Returns 1 while there may be another one. */
__attribute__((noinline)) int pa_send_next_page(u32 unused)
{
	u32 zero = 0, size;
	struct pa_page_scratch *p = bpf_map_lookup_elem(&page_scratch, &zero);

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
		p->stop = PA_STOP_COPY_LOST; /* the ring is full, but perhaps not for a word */
		return 0;
	}
	if (p->alt_bytes)
		pa_find_interrupted(0);
	p->at += size;
	return 1;
}

static __always_inline void end_stack(struct pa_page_scratch *p)
{
	struct pa_stack_end end = { .head = p->page.head, .cpu = p->page.cpu, .stop = p->stop };

	end.head.type = PA_RECORD_STACK_END;
	bpf_ringbuf_output(&ring, &end, sizeof(end), BPF_RB_NO_WAKEUP); /* missing: see abi.h */
}

/* Page by page from the red zone below sp up: pages that cannot be read are left out, the next may be
 * readable. */
static __always_inline void pa_send_stack(struct pa_scratch *s, struct task_struct *task)
{
	u32 zero = 0;
	struct pa_page_scratch *p = bpf_map_lookup_elem(&page_scratch, &zero);

	if (!p)
		return; /* cannot be: an array's element 0 exists */
	p->page.head = s->sample.head;
	p->page.head.type = PA_RECORD_STACK;
	p->page.cpu = s->sample.cpu;
	begin_stack(p, task, s->walk.regs[PA_SP_AT]);
	p->at -= PA_RED_ZONE_BYTES;
	for (u32 i = 0; i < PA_STACK_MAX_PAGES; i++)
		if (!pa_send_next_page(i))
			break;
	end_stack(p);
}

#endif
