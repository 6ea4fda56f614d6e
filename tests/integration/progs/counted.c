// SPDX-License-Identifier: Apache-2.0
/*
 * counted N: a loop of two instructions, N times.
 * Truth: 2 * N instructions, and what the program's start and the kernel add. Where there are hardware counters, it
 * prints what it counts itself: "instructions <of the program> <and of the kernel for it>".
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_counter(int exclude_kernel)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_HW_INSTRUCTIONS,
					.exclude_kernel = exclude_kernel & 1 };

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static uint64_t counter_value(int fd)
{
	uint64_t value;

	return read(fd, &value, sizeof(value)) == sizeof(value) ? value : 0;
}

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
	int program, all;

	if (argc != 2 || strtoul(argv[1], NULL, 10) == 0)
		return 2;
	program = open_counter(1);
	all = open_counter(0);
	counted_loop(strtoul(argv[1], NULL, 10));
	if (program >= 0 && all >= 0)
		printf("instructions %llu %llu\n", (unsigned long long)counter_value(program),
		       (unsigned long long)counter_value(all));
	return 0;
}
