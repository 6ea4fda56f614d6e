/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel's walker does otherwise on AArch64, compiled for the host: code without a table. */
#define PA_WALK_ARM64 1
#include <string.h>

#include "bpf/walk.h"
#include "tap.h"

#define STACK_BASE 0x7ffc00000000ull
#define CODE_PC 0x600000ull
#define GAP_PC 0x700000ull
#define LR 0x402222ull
#define SIGNED_LR (LR | 0x7full << 48) /* with a PAC */

#define nr_in(array) (__u32)(sizeof(array) / sizeof((array)[0]))

static __u64 stack[64];
static const __u32 *code;
static __u32 nr_code;

static int pa_walk_read(struct pa_walk *w, void *to, __u32 size, __u64 addr)
{
	if (size <= 4 * nr_code && addr - CODE_PC <= 4 * nr_code - size)
		memcpy(to, (const char *)code + (addr - CODE_PC), size);
	else if (size <= sizeof(stack) && addr - STACK_BASE <= sizeof(stack) - size)
		memcpy(to, (const char *)stack + (addr - STACK_BASE), size);
	else
		return -1;
	return 0;
}

static __u32 pa_walk_code_kind(struct pa_walk *w, __u64 addr)
{
	return addr - CODE_PC < 4 * nr_code ? PA_CODE_TABLE : PA_CODE_NONE;
}

static __u32 pa_walk_rule(struct pa_walk *w, __u64 pc, pa_rule *rule)
{
	*rule = pc == GAP_PC ? PA_RULE_WORD_GAP : PA_RULE_WORD_NONE;
	return 0;
}

/* One frame from the i-th instruction; the caller's record is in its own frame, higher up. */
static struct pa_walk step_from(__u32 i)
{
	struct pa_walk w = { .pc = CODE_PC + 4 * i,
			     .sp = STACK_BASE,
			     .fp = STACK_BASE + 128,
			     .lr = SIGNED_LR,
			     .nr = 1,
			     .is_exact = 1,
			     .has_fp = 1,
			     .has_regs = 1,
			     .has_lr = 1 };

	stack[0] = STACK_BASE + 128; /* what a push has put there */
	stack[1] = 0x403333;
	stack[16] = STACK_BASE + 256;
	stack[17] = 0x401111;
	(void)pa_walk_frame(&w); /* w tells */
	return w;
}

static bool returns_by_lr(__u32 i)
{
	struct pa_walk w = step_from(i);

	return w.nr == 2 && w.pc == LR && w.fp == STACK_BASE + 128 && w.sp == STACK_BASE;
}

static bool has_record_at_sp(__u32 i)
{
	struct pa_walk w = step_from(i);

	return w.nr == 2 && w.pc == 0x403333 && w.fp == STACK_BASE + 128;
}

static bool goes_by_fp(__u32 i)
{
	struct pa_walk w = step_from(i);

	return w.nr == 2 && w.pc == 0x401111 && w.fp == STACK_BASE + 256;
}

static void test_first_and_last_instructions(void)
{
	static const __u32 signed_function[] = {
		0xd503233f, /* paciasp */
		0xa9be7bfd, /* stp x29, x30, [sp, #-32]! */
		0x910003fd, /* mov x29, sp */
		0xd503201f, /* nop */
		0xa8c27bfd, /* ldp x29, x30, [sp], #32 */
		0xd50323bf, /* autiasp */
		0xd65f03c0, /* ret */
		0xd65f0bff, /* retaa */
		0xd503201f,
	};

	code = signed_function;
	nr_code = nr_in(signed_function);
	ok(returns_by_lr(0) && returns_by_lr(1), "before the push the return address is in lr");
	ok(has_record_at_sp(2), "after the push the frame record is at sp");
	ok(goes_by_fp(3) && goes_by_fp(4),
	   "after the move the frame pointer leads to the frame record");
	ok(returns_by_lr(5) && returns_by_lr(6) && returns_by_lr(7),
	   "after the pop the return address is in lr again");
}

static void test_other_instructions(void)
{
	static const __u32 others[] = {
		0xd503245f, /* bti c */
		0xd503201f, /* nop */
		0xa9017bfd, /* stp x29, x30, [sp, #16] */
		0x910003fd, /* mov x29, sp */
		0xd65f03c0, /* ret, inside a page whose rest cannot be read */
	};

	code = others;
	nr_code = nr_in(others);
	ok(returns_by_lr(0),
	   "at a landing pad for calls there is no frame record, whatever follows");
	ok(goes_by_fp(2), "a frame record stored elsewhere says nothing");
	ok(goes_by_fp(3), "a frame record stored elsewhere is not looked for at sp");
	ok(goes_by_fp(4), "unreadable code says nothing");
}

/* Whether the frame pointer is believed that says that the function at 0 returns to instruction i. */
static bool returns_to(__u32 i)
{
	struct pa_walk w = { .pc = GAP_PC,
			     .sp = STACK_BASE,
			     .fp = STACK_BASE + 128,
			     .nr = 1,
			     .is_exact = 1,
			     .has_fp = 1 };

	stack[17] = CODE_PC + 4 * i;
	if (pa_walk_frame(&w))
		return w.pc == CODE_PC + 4 * i;
	ok(w.stop == PA_STOP_FP_END, "the chain of frame pointers is at its end");
	return false;
}

static void test_returns(void)
{
	static const __u32 callers[] = {
		0xd503201f, /* nop */
		0x97fffff0, /* bl */
		0xd63f0100, /* blr x8 */
		0xd73f0909, /* blraa x8, x9 */
		0x910003fd, /* mov x29, sp */
		0xd2801168, /* mov x8, #139 */
		0x14000010, /* b */
		0xd503201f, /* nop */
		0x94000010, /* bl */
		0xd503201f, 0xd503201f, 0xd503201f,
	};

	code = callers;
	nr_code = nr_in(callers);
	ok(returns_to(2) && returns_to(3) && returns_to(4), "return address: after a call");
	ok(returns_to(5), "return address: the code that a signal handler returns to");
	ok(returns_to(8), "return address: the code that a goroutine returns to");
	ok(!returns_to(7), "return address: not after a jump");
	ok(!returns_to(6), "return address: not after any other instruction");
}

/* Where there is nothing beside the page that can be read. */
static void test_edges_of_a_mapping(void)
{
	static __u32 page[PA_CODE_PAGE_BYTES / 4];

	page[0] = 0xa9be7bfd;               /* stp x29, x30, [sp, #-32]! */
	page[1] = 0x910003fd;               /* mov x29, sp */
	page[nr_in(page) - 1] = 0xd65f03c0; /* ret */
	code = page;
	nr_code = nr_in(page);
	ok(returns_by_lr(0) && has_record_at_sp(1), "a function that begins with its mapping");
	ok(returns_by_lr(nr_code - 1), "a function that ends with its mapping");
}

int main(void)
{
	test_first_and_last_instructions();
	test_other_instructions();
	test_returns();
	test_edges_of_a_mapping();
	return tap_done();
}
