/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go programs on x86-64: rules out of the table that their own runtime walks stacks by. Where a
 * function has a frame, the caller's frame pointer stands below the return address.
 *
 * Some functions of the runtime change stacks. Those that come back (systemstack, and what calls C)
 * keep their frame pointer meanwhile, which leads to the goroutine's stack. Those that do not come
 * back, mcall and morestack first of all, begin a stack: Go's own walk ends there as well.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "elf/elf_image.h"
#include "elf/go_search.h"
#include "elf/go_text.h"
#include "unwind/known_code_internal.h"

#define MAX_CODE_BYTES 1024 /* of a function that is looked into */
#define MAX_RETURNS 64      /* pieces of code that handlers may return to; there is one */
#define CALLER_FP_SLOT (-16)

struct go_program {
	const struct elf_image *img; /* borrowed */
	struct go_table table;
	uint64_t text; /* link-time address that code counts from */
	struct known_code *to;
	uint8_t code[MAX_CODE_BYTES]; /* of the function at hand, if it is looked into */
	size_t code_bytes;
};

bool go_code_is_in(const struct elf_image *img)
{
	struct elf_section s;

	return go_search(img, &s) == 0;
}

static bool is_named(const struct go_program *p, const struct go_func *f, const char *name)
{
	const char *its = go_func_name(&p->table, f);

	return its && strcmp(its, name) == 0;
}

static bool is_one_of(const struct go_program *p, const struct go_func *f, const char *const *names,
		      size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (is_named(p, f, names[i]))
			return true;
	return false;
}

static void read_code(struct go_program *p, uint64_t addr, size_t size)
{
	uint64_t offset;

	p->code_bytes = size < sizeof(p->code) ? size : sizeof(p->code);
	if (elf_image_offset_of(p->img, addr, &offset) < 0 ||
	    elf_image_read(p->img, offset, p->code, p->code_bytes) < 0)
		p->code_bytes = 0;
}

static bool code_has(const struct go_program *p, uint64_t at, const char *bytes, size_t n)
{
	return at <= p->code_bytes && n <= p->code_bytes - at &&
	       memcmp(p->code + at, bytes, n) == 0;
}

/* The code that signal handlers return to has been found by then, and may tell where all begins. */
static int find_text(struct go_program *p, uint32_t nr_trampolines)
{
	uint64_t addrs[MAX_RETURNS];
	struct go_returns returns = { .addrs = addrs };

	for (; returns.nr < nr_trampolines && returns.nr < MAX_RETURNS; returns.nr++)
		addrs[returns.nr] = p->to->ranges[returns.nr].start + 1;
	return go_text_find(p->img, &p->table, &returns, &p->text);
}

static pa_rule rule_of(int64_t delta, bool has_fp)
{
	pa_rule rule = PA_CFA_REG | (pa_rule)PA_REG_X86_SP << PA_RULE_REG_SHIFT |
		       (pa_rule)(delta + 8) << PA_RULE_CFA_SHIFT;

	if (delta && has_fp)
		rule |= (pa_rule)PA_FP_AT_CFA << PA_RULE_FP_SHIFT | (pa_rule)(CALLER_FP_SLOT / 8)
									    << PA_RULE_SLOT_SHIFT;
	return rule;
}

/*
 * From which offset on the frame pointer is the function's own, or 0: never. `at` is where the stack
 * pointer has moved first: behind "push %rbp", before "mov %rsp, %rbp"; in programs of Go before
 * 1.21 before "mov %rbp, n(%rsp); lea n(%rsp), %rbp".
 */
static uint64_t own_fp_at(const struct go_program *p, uint64_t at)
{
	if (at && code_has(p, at - 1, "\x55\x48\x89\xe5", 4))
		return at + 3;
	if (code_has(p, at, "\x48\x89\x6c\x24", 4) && code_has(p, at + 5, "\x48\x8d\x6c\x24", 4))
		return at + 10;
	if (code_has(p, at, "\x48\x89\xac\x24", 4) && code_has(p, at + 8, "\x48\x8d\xac\x24", 4))
		return at + 16;
	return 0;
}

/* Behind the instruction that loads the stack pointer: mov n(reg), %rsp or mov reg, %rsp; 0: none. */
static uint64_t behind_switch(const struct go_program *p)
{
	for (size_t i = 0; i + 4 <= p->code_bytes; i++) {
		const uint8_t *c = p->code + i;

		if ((c[0] == 0x48 || c[0] == 0x49) && c[1] == 0x8b && (c[2] & 0xf8) == 0x60 &&
		    c[2] != 0x64)
			return i + 4;
		if ((c[0] == 0x48 || c[0] == 0x4c) && c[1] == 0x89 && (c[2] & 0xc7) == 0xc4)
			return i + 3;
	}
	return 0;
}

/* What holds in which part of a function, by offset in it. */
struct plan {
	uint64_t own_fp;   /* from here on its frame pointer is its own; UINT64_MAX: never */
	uint64_t switched; /* from here on the stack may be another one; UINT64_MAX: never */
	pa_rule by_fp;     /* with a frame pointer of its own: a rule that counts before sp; or 0 */
	pa_rule behind;    /* on the other stack */
	bool is_preempt;   /* whoever called it was interrupted */
};

/* They leave a stack for good: what they call is the first on the other one. */
static bool begins_a_stack(const struct go_program *p, const struct go_func *f)
{
	static const char *const names[] = { "runtime.mcall", "runtime.morestack", "runtime.clone",
					     "runtime.switchToCrashStack0", "gogo" };

	return is_one_of(p, f, names, sizeof(names) / sizeof(names[0]));
}

static uint64_t first_move(const struct go_program *p, const struct go_func *f)
{
	struct go_deltas d = go_deltas_of(&p->table, f);

	while (go_deltas_next(&d) > 0)
		if (d.delta)
			return d.start - f->start;
	return 0;
}

static struct plan plan_of(struct go_program *p, const struct go_func *f)
{
	struct plan plan = { .switched = UINT64_MAX };
	uint64_t at;

	if (!(f->flags & (GO_ASM | GO_SP_WRITE)))
		return plan;
	read_code(p, p->text + f->start, f->end - f->start);
	at = first_move(p, f);
	plan.own_fp = at ? own_fp_at(p, at) : 0;
	if (!plan.own_fp)
		plan.own_fp = UINT64_MAX;
	plan.is_preempt = is_named(p, f, "runtime.asyncPreempt");
	if (!(f->flags & GO_SP_WRITE) || is_named(p, f, "runtime.cgocallback"))
		return plan; /* cgocallback makes both stacks look alike */
	plan.by_fp = PA_CFA_SWITCH;
	plan.behind = begins_a_stack(p, f) ? PA_CFA_END : PA_CFA_SWITCH;
	at = behind_switch(p);
	if (at && (begins_a_stack(p, f) || plan.own_fp == UINT64_MAX))
		plan.switched = at;
	return plan;
}

static pa_rule rule_at(const struct plan *plan, uint64_t at, int64_t delta)
{
	bool has_own_fp = at >= plan->own_fp;

	if (at >= plan->switched)
		return plan->behind;
	if (plan->by_fp && has_own_fp && delta)
		return plan->by_fp;
	/* Until it is its own, the register is the caller's still; "push" has saved it already. */
	return rule_of(delta, plan->own_fp != UINT64_MAX) | (plan->is_preempt ? PA_RULE_SIGNAL : 0);
}

/* A piece with one distance of the stack pointer, cut where the plan changes. */
static int add_piece(struct go_program *p, const struct go_func *f, const struct plan *plan,
		     const struct go_deltas *d)
{
	uint64_t at = d->start - f->start, end = d->end - f->start;
	int r = 0;

	while (r == 0 && at < end) {
		uint64_t next = end;

		if (plan->own_fp > at && plan->own_fp < next)
			next = plan->own_fp;
		if (plan->switched > at && plan->switched < next)
			next = plan->switched;
		r = known_code_add(p->to, p->text + f->start + at, p->text + f->start + next,
				   rule_at(plan, at, d->delta));
		at = next;
	}
	return r;
}

static int add_func(struct go_program *p, const struct go_func *f)
{
	struct go_deltas d = go_deltas_of(&p->table, f);
	struct plan plan;
	int r;

	/* sigtramp is the kernel's to call: behind it is what a signal interrupted. */
	if ((f->flags & GO_TOP_FRAME) && !is_named(p, f, "runtime.sigtramp"))
		return known_code_add(p->to, p->text + f->start, p->text + f->end, PA_CFA_END);
	plan = plan_of(p, f);
	while ((r = go_deltas_next(&d)) > 0) {
		r = add_piece(p, f, &plan, &d);
		if (r < 0)
			return r;
	}
	return r == -EBADMSG ? 0 : r; /* it is damaged: the pieces up to there are no worse */
}

/* Whether the function is one that signal handlers return to. */
static bool has_trampoline(const struct go_program *p, const struct go_func *f, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (p->to->ranges[i].start + 1 - p->text - f->start < f->end - f->start)
			return true;
	return false;
}

static int add_funcs(struct go_program *p, uint32_t nr_trampolines)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < p->table.nr_funcs; i++) {
		struct go_func f;

		if (go_table_func(&p->table, i, &f) == 0 && f.deltas &&
		    !has_trampoline(p, &f, nr_trampolines))
			r = add_func(p, &f);
	}
	return r;
}

int go_code_find(const struct elf_image *img, struct known_code *k)
{
	struct go_program p = { .img = img, .to = k };
	struct buf b = BUF_INIT(GO_MAX_TABLE_BYTES);
	uint32_t nr_trampolines = k->nr;
	int r;

	if (elf_image_machine(img) != EM_X86_64)
		return 0;
	r = go_search_load(img, &b, &p.table);
	if (r == 0)
		r = p.table.quantum == 1 ? find_text(&p, nr_trampolines) : -ENOENT;
	if (r == 0)
		r = add_funcs(&p, nr_trampolines);
	buf_done(&b);
	return r == -ENOMEM || r == -E2BIG ? r : 0;
}
