// SPDX-License-Identifier: Apache-2.0
/*
 * counted N: a loop of two instructions, N times.
 * Truth: 2 * N instructions, and what the program's start and the kernel add.
 */
#include <stdlib.h>

static void counted_loop(unsigned long n)
{
#if defined(__x86_64__)
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(n) : : "cc");
#elif defined(__aarch64__)
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
#else
#error "no such architecture"
#endif
}

int main(int argc, char **argv)
{
	if (argc != 2 || strtoul(argv[1], NULL, 10) == 0)
		return 2;
	counted_loop(strtoul(argv[1], NULL, 10));
	return 0;
}
