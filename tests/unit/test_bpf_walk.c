/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's walker, compiled for the host, on stacks that are laid out by hand. */
#include <string.h>

#include "bpf/walk.h"
#include "tap.h"

#define STACK_BASE 0x7ffc00000000ull
#define STACK_WORDS 4096

static __u64 stack[STACK_WORDS];

static int pa_walk_read(struct pa_walk *w, void *to, __u32 size, __u64 addr)
{
	if (addr < STACK_BASE || addr + size > STACK_BASE + sizeof(stack))
		return -1;
	memcpy(to, (const char *)stack + (addr - STACK_BASE), size);
	return 0;
}

/* A chain of n frame records, 32 bytes apart; the outermost one ends in the given frame pointer and
 * return address. */
static struct pa_walk chain(int n, __u64 last_fp, __u64 last_pc)
{
	for (int i = 0; i < n; i++) {
		stack[4 * i] = i + 1 < n ? STACK_BASE + 32 * (__u64)(i + 1) : last_fp;
		stack[4 * i + 1] = i + 1 < n ? 0x401000 + (__u64)i : last_pc;
	}
	return (struct pa_walk){ .pc = 0x400000, .sp = STACK_BASE, .fp = STACK_BASE, .nr = 1 };
}

static int walk(struct pa_walk *w)
{
	int steps = 0;

	while (pa_walk_frame(w))
		steps++;
	return steps;
}

static void test_follows_the_chain(void)
{
	struct pa_walk w = chain(5, 0, 0x401234);

	ok(walk(&w) == 5, "five records give five callers");
	ok(w.pc == 0x401234, "the last one is the outermost return address");
	ok(w.stop == PA_STOP_FP_END, "a zero frame pointer ends the chain, and END is not claimed");
	ok(w.nr == 6, "the sampled frame counts");
}

static void test_ends(void)
{
	struct pa_walk w;

	w = chain(3, STACK_BASE - 4096, 0x401234);
	ok(walk(&w) == 3 && w.stop == PA_STOP_FP_END,
	   "a frame pointer below the stack pointer ends it");
	w = chain(3, STACK_BASE + 99, 0x401234);
	ok(walk(&w) == 3 && w.stop == PA_STOP_FP_END, "so does one that is not aligned");
	w = chain(3, 0, 0);
	ok(walk(&w) == 2 && w.stop == PA_STOP_FP_END,
	   "so does a return address that is no address");
	w = chain(3, 0, 0xffffffff81000000ull);
	ok(walk(&w) == 2 && w.stop == PA_STOP_FP_END, "so does one in the kernel's half");
	w = chain(3, STACK_BASE + sizeof(stack), 0x401234);
	ok(walk(&w) == 3 && w.stop == PA_STOP_STACK_FAULT, "an unreadable record is named as such");
}

static void test_loops_and_depth(void)
{
	struct pa_walk w = chain(1, STACK_BASE, 0x401234);

	ok(walk(&w) == 1 && w.stop == PA_STOP_FP_END,
	   "a record that points to itself is not followed");
	w = chain(1000, 0, 0x401234);
	ok(walk(&w) == PA_MAX_USER_FRAMES - 1 && w.stop == PA_STOP_TOO_DEEP,
	   "a thousand frames end at the limit, which is said");
}

int main(void)
{
	test_follows_the_chain();
	test_ends();
	test_loops_and_depth();
	return tap_done();
}
