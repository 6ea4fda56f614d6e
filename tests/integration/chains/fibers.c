/* SPDX-License-Identifier: Apache-2.0 */
/* Fibers of makecontext(): begin → alpha → beta → work → spin, each turn on a stack of its own. */
#include <stdlib.h>
#include <ucontext.h>

static volatile unsigned long sink;
static ucontext_t caller, fiber;

__attribute__((noinline)) static unsigned long spin(unsigned long n)
{
	for (unsigned long i = 0; i < 2000000; i++)
		n = n * 31 + i / (n | 1);
	return n;
}

__attribute__((noinline)) static unsigned long work(unsigned long n)
{
	sink = spin(n);
	return sink + 1;
}

__attribute__((noinline)) static unsigned long beta(unsigned long n)
{
	sink = work(n);
	return sink + 2;
}

__attribute__((noinline)) static unsigned long alpha(unsigned long n)
{
	sink = beta(n);
	return sink + 3;
}

static void begin(void)
{
	sink = alpha(sink);
	sink++;
}

int main(void)
{
	static char stack[65536];

	for (;;) {
		getcontext(&fiber);
		fiber.uc_stack.ss_sp = stack;
		fiber.uc_stack.ss_size = sizeof(stack);
		fiber.uc_link = &caller;
		makecontext(&fiber, begin, 0);
		swapcontext(&caller, &fiber);
	}
}
