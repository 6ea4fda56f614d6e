// SPDX-License-Identifier: Apache-2.0
/*
 * many_stacks [NR]: waits for a line, then sleeps NR (70,000) times for 20 us, each time in another stack: 17 calls
 * of step_left() or step_right() by the bits of the number. Prints how often it has slept, by the kernel's count: a
 * timer that expires before the thread is off its CPU does not make it sleep.
 */
#include "prog.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#define NR_STEPS 17

typedef void (*step_fn)(unsigned long bits, unsigned int nr_left);

static void go_on(unsigned long bits, unsigned int nr_left);

NOINLINE static void step_left(unsigned long bits, unsigned int nr_left)
{
	go_on(bits, nr_left);
	__asm__ volatile("");
}

NOINLINE static void step_right(unsigned long bits, unsigned int nr_left)
{
	go_on(bits, nr_left);
	__asm__ volatile("" : : "r"(nr_left));
}

INLINE void nap(void)
{
	static const struct timespec moment = { .tv_nsec = 20000 };

	nanosleep(&moment, NULL);
}

NOINLINE static void go_on(unsigned long bits, unsigned int nr_left)
{
	static const step_fn steps[] = { step_left, step_right };

	if (nr_left)
		steps[bits & 1](bits >> 1, nr_left - 1);
	else
		nap();
	__asm__ volatile("");
}

static long nr_sleeps(void)
{
	struct rusage used = { 0 };

	(void)getrusage(RUSAGE_THREAD, &used);
	return used.ru_nvcsw;
}

int main(int argc, char **argv)
{
	unsigned long nr = arg_number(argc, argv, 1, 70000);
	long before;

	(void)prctl(PR_SET_TIMERSLACK, 1);
	prog_say_ready();
	if (getchar() != '\n')
		return 1;
	before = nr_sleeps();
	for (unsigned long i = 0; i < nr; i++)
		go_on(i, NR_STEPS);
	printf("%ld\n", nr_sleeps() - before);
	fflush(stdout);
	return 0;
}
