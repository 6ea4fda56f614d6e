/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go programs on x86-64: rules from the table that Go's runtime unwinds stacks with. If a function
 * has a frame, the caller's frame pointer is below the return address.
 *
 * Some runtime functions switch stacks. How a walk gets to the stack that such a function has left
 * depends on the function: enum pa_switch. If the function has a frame pointer of its own, it keeps
 * it on the other stack, and the frame pointer leads back.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "elf/elf_image.h"
#include "elf/go_search.h"
#include "elf/go_text.h"
#include "unwind/known_code_internal.h"

#define MAX_CODE_BYTES 1024 /* longer functions are not examined */
/* candidates for the code that signal handlers return to; only one is real */
#define MAX_RETURNS 64
#define CALLER_FP_SLOT (-16)

struct go_program {
	const struct elf_image *img; /* borrowed */
	struct go_table table;
	uint64_t text; /* link-time address that code addresses are relative to */
	struct known_code *to;
	uint8_t code[MAX_CODE_BYTES]; /* code of the current function, if it is examined */
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

/* At this point the code that signal handlers return to has been found, and may locate the start of
 * the text. */
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
 * The offset where the frame pointer becomes the function's own; 0: never. `at` is where the stack
 * pointer changes first: after "push %rbp", before "mov %rsp, %rbp"; before Go 1.21 before "mov
 * %rbp, n(%rsp); lea n(%rsp), %rbp".
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

/* The offset after the next instruction that loads the stack pointer: mov n(reg), %rsp or mov reg,
 * %rsp; 0: none. */
static uint64_t behind_switch(const struct go_program *p, uint64_t from)
{
	for (size_t i = from; i + 4 <= p->code_bytes; i++) {
		const uint8_t *c = p->code + i;

		if ((c[0] == 0x48 || c[0] == 0x49) && c[1] == 0x8b && (c[2] & 0xf8) == 0x60 &&
		    c[2] != 0x64)
			return i + 4;
		if ((c[0] == 0x48 || c[0] == 0x4c) && c[1] == 0x89 && (c[2] & 0xc7) == 0xc4)
			return i + 3;
	}
	return 0;
}

/* Which rules apply in which parts of a function, by offset. */
struct plan {
	uint64_t own_fp;   /* where its frame pointer becomes its own; UINT64_MAX: never */
	uint64_t switched; /* where the stack may have been switched; UINT64_MAX: never */
	uint64_t back;     /* where the first stack is in use again; UINT64_MAX: unknown */
	pa_rule by_fp;     /* with its own frame pointer: a rule used instead of sp; or 0 */
	pa_rule behind;    /* rule on the other stack, without the offset */
	bool has_offset;   /* that rule needs an offset */
	bool is_preempt;   /* its caller was interrupted */
};

static pa_rule switch_rule(enum pa_switch way)
{
	return PA_CFA_SWITCH | (pa_rule)way << PA_RULE_REG_SHIFT;
}

/* The rule of the frame that calls C and holds the goroutine: mov %rdi, n(%rsp). */
static pa_rule rule_of_c(const struct go_program *p, uint64_t switched)
{
	for (uint64_t at = switched; at + 5 <= p->code_bytes; at++)
		if (code_has(p, at, "\x48\x89\x7c\x24", 4) && !(p->code[at + 4] & 7))
			return switch_rule(PA_SWITCH_C) | (pa_rule)(p->code[at + 4] / 8)
								  << PA_RULE_SLOT_SHIFT;
	return switch_rule(PA_SWITCH_LOST);
}

/* The rule for leaving a stack that begins where a function has switched to it. */
static pa_rule rule_behind(const struct go_program *p, const struct go_func *f, bool has_own_fp,
			   uint64_t switched)
{
	if (is_named(p, f, "runtime.mcall"))
		return switch_rule(PA_SWITCH_MCALL);
	if (is_named(p, f, "runtime.morestack"))
		return switch_rule(PA_SWITCH_MORESTACK);
	if (is_named(p, f, "runtime.cgocallback"))
		return switch_rule(PA_SWITCH_CALLBACK);
	if (is_named(p, f, "runtime.asmcgocall"))
		return rule_of_c(p, switched);
	if (is_named(p, f, "runtime.clone"))
		return PA_CFA_END; /* a new thread */
	if (is_named(p, f, "gogo") || is_named(p, f, "runtime.switchToCrashStack0"))
		return switch_rule(PA_SWITCH_LOST);
	if (has_own_fp)
		return switch_rule(PA_SWITCH_FP);
	return switch_rule(is_named(p, f, "runtime.systemstack") ? PA_SWITCH_SYSTEM
								 : PA_SWITCH_LOST);
}

static uint64_t first_move(const struct go_program *p, const struct go_func *f)
{
	struct go_deltas d = go_deltas_of(&p->table, f);

	while (go_deltas_next(&d) > 0)
		if (d.delta)
			return d.start - f->start;
	return 0;
}

static void plan_switch(const struct go_program *p, const struct go_func *f, struct plan *plan)
{
	bool has_own_fp = plan->own_fp != UINT64_MAX;
	uint64_t at = behind_switch(p, 0), back = at ? behind_switch(p, at) : 0;
	enum pa_switch way;

	plan->behind = rule_behind(p, f, has_own_fp, at);
	way = (enum pa_switch)PA_RULE_SWITCH_WAY(plan->behind);
	plan->has_offset = way >= PA_SWITCH_SYSTEM;
	if (way != PA_SWITCH_CALLBACK)
		plan->by_fp = switch_rule(PA_SWITCH_FP);
	if (at && plan->behind != switch_rule(PA_SWITCH_FP))
		plan->switched = at;
	if (back && (way == PA_SWITCH_CALLBACK || way == PA_SWITCH_SYSTEM))
		plan->back = back;
}

static struct plan plan_of(struct go_program *p, const struct go_func *f)
{
	struct plan plan = { .switched = UINT64_MAX, .back = UINT64_MAX };
	uint64_t at;

	if (!(f->flags & (GO_ASM | GO_SP_WRITE)))
		return plan;
	read_code(p, p->text + f->start, f->end - f->start);
	at = first_move(p, f);
	plan.own_fp = at ? own_fp_at(p, at) : 0;
	if (!plan.own_fp)
		plan.own_fp = UINT64_MAX;
	plan.is_preempt = is_named(p, f, "runtime.asyncPreempt");
	if (f->flags & GO_SP_WRITE)
		plan_switch(p, f, &plan);
	return plan;
}

static pa_rule rule_at(const struct plan *plan, uint64_t at, int64_t delta)
{
	bool has_own_fp = at >= plan->own_fp;
	bool is_popped = has_own_fp && !delta; /* about to return */

	if (at >= plan->switched && at < plan->back && !is_popped)
		return plan->behind |
		       (plan->has_offset ? (pa_rule)(delta + 8) << PA_RULE_CFA_SHIFT : 0);
	if (plan->by_fp && has_own_fp && delta)
		return plan->by_fp;
	/* Before own_fp the register is still the caller's; "push" has already saved it. */
	return rule_of(delta, plan->own_fp != UINT64_MAX) | (plan->is_preempt ? PA_RULE_SIGNAL : 0);
}

/* Adds a range with one stack pointer delta, split where the plan changes. */
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
		if (plan->back > at && plan->back < next)
			next = plan->back;
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

	/* The kernel calls sigtramp: its caller is the code that a signal interrupted. */
	if ((f->flags & GO_TOP_FRAME) && !is_named(p, f, "runtime.sigtramp"))
		return known_code_add(p->to, p->text + f->start, p->text + f->end, PA_CFA_END);
	plan = plan_of(p, f);
	while ((r = go_deltas_next(&d)) > 0) {
		r = add_piece(p, f, &plan, &d);
		if (r < 0)
			return r;
	}
	return r == -EBADMSG ? 0 : r; /* malformed: the ranges before this one are valid */
}

/* True if signal handlers return to this function. */
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
