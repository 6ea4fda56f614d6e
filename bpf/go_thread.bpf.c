// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Threads of Go programs: which stacks they have, and where each was left. */
#include "go_thread.bpf.h"
#include "regs.bpf.h"

/* Go's description of a goroutine and its stack (runtime.g), as far as all versions agree. The
 * thread's own stack has one as well. */
struct pa_go_g {
	u64 start, end; /* of the stack */
	u64 skipped[4];
	u64 m; /* the thread */
	/* Where the stack was left (runtime.gobuf): */
	u64 sp, pc, g, context;
	u64 rest[3]; /* fp is the second of these, before Go 1.25 the third; the other is 0 */
};
#define GO_MAX_STACK_BYTES (1ull << 30)
#define GO_M_WORDS 32      /* of runtime.m: the first is the thread's own g */
#define GO_M_FIRST_CURG 18 /* the current g is among these, depending on the version */

/* Too big for the BPF stack of 512 bytes: overlays the page buffer, which is not in use yet. */
struct pa_go_thread {
	u64 m[GO_M_WORDS];
	struct pa_go_g here; /* the one in the thread-local word */
	struct pa_go_g own;  /* the thread's own stack */
	struct pa_go_g current;
};
_Static_assert(sizeof(struct pa_go_thread) <= PA_STACK_PAGE_BYTES, "does not fit");

static __always_inline bool read_go_g(struct pa_go_g *g, u64 addr)
{
	return !bpf_probe_read_user(g, sizeof(*g), (const void *)addr) && g->start < g->end &&
	       g->end - g->start <= GO_MAX_STACK_BYTES;
}

static __always_inline bool is_on(const struct pa_go_g *g, u64 addr)
{
	return addr >= g->start && addr < g->end;
}

/* True if this is a Go thread: its thread-local word points to a description of a stack, and that
 * to the thread's. Inconsistent values are rejected. */
static __always_inline bool read_go_thread(struct pa_go_thread *t, u64 *ret_here)
{
	u64 word = task_go_word((void *)bpf_get_current_task());

	return word && !bpf_probe_read_user(ret_here, sizeof(*ret_here), (const void *)word) &&
	       *ret_here && read_go_g(&t->here, *ret_here) &&
	       !bpf_probe_read_user(t->m, sizeof(t->m), (const void *)t->here.m) &&
	       read_go_g(&t->own, t->m[0]) && t->own.m == t->here.m;
}

/* The goroutine that the thread runs; 0: none. */
static __always_inline u64 find_goroutine(struct pa_go_thread *t)
{
	for (u32 i = GO_M_FIRST_CURG; i < GO_M_WORDS; i++)
		if (t->m[i] && t->m[i] != t->m[0] && read_go_g(&t->current, t->m[i]) &&
		    t->current.m == t->here.m)
			return t->m[i];
	return 0;
}

/* Copies the stack from where it was left. In a vDSO call that position is unknown: then the upper
 * end of the stack is copied. */
static __always_inline void add_left_stack(struct pa_page_scratch *p, const struct pa_go_g *g)
{
	p->other = g->start;
	if (g->end - g->start > PA_STACK_MAX_BYTES / 2)
		p->other = g->end - PA_STACK_MAX_BYTES / 2;
	p->other_end = g->end;
	if (!is_on(g, g->sp))
		return;
	p->other = g->sp;
	if (g->end - g->sp > PA_STACK_MAX_BYTES / 2)
		p->other_end = g->sp + PA_STACK_MAX_BYTES / 2;
}

/* Finds the stack that sp is on, and the stack that was left for it. On the thread's own stack
 * (also in a vDSO call) that is the goroutine's; on a goroutine's stack it is the thread's, if C
 * has called Go. */
__attribute__((noinline)) int pa_find_go_stack(u32 level)
{
	struct pa_page_scratch *p = bpf_map_lookup_elem(&page_scratch, &level);
	struct pa_go_thread *t;
	u64 here;

	if (!p)
		return 0;
	t = (void *)p->page.bytes;
	if (!read_go_thread(t, &here))
		return 0;
	if (is_on(&t->here, p->at) && t->m[0] == here) {
		if (find_goroutine(t))
			add_left_stack(p, &t->current);
	} else if (is_on(&t->here, p->at)) {
		p->end = t->here.end;
		if (is_on(&t->own, t->own.sp))
			add_left_stack(p, &t->own);
	} else if (is_on(&t->own, p->at)) {
		t->here.sp = 0;
		add_left_stack(p, &t->here);
	}
	return 0;
}

__attribute__((noinline)) int pa_find_go(u32 level)
{
	struct pa_page_scratch *p = bpf_map_lookup_elem(&page_scratch, &level);
	struct pa_scratch *s = bpf_map_lookup_elem(&scratch, &level);
	struct pa_go_thread *t;
	u64 here;

	if (!p || !s)
		return 0;
	t = (void *)p->page.bytes;
	__builtin_memset(&s->walk.go, 0, sizeof(s->walk.go));
	if (!read_go_thread(t, &here))
		return 0;
	s->walk.go.m = t->here.m;
	s->walk.go.own_sp = is_on(&t->own, t->own.sp) ? t->own.sp : 0;
	s->walk.go.g = find_goroutine(t);
	if (!s->walk.go.g)
		return 0;
	s->walk.go.end = t->current.end;
	if (t->current.g != s->walk.go.g || !is_on(&t->current, t->current.sp - 1))
		return 0; /* in the middle of a switch: pc stays 0 */
	s->walk.go.pc = t->current.pc;
	s->walk.go.sp = t->current.sp;
	s->walk.go.fp = t->current.rest[1] ? t->current.rest[1] : t->current.rest[2];
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
