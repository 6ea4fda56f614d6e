/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs under test share: work that costs the same everywhere, clocks, a stop flag.
 * Everything is inlined, so that no helper shows up in a profile beside the functions with a role. */
#ifndef TESTS_INTEGRATION_PROG_H
#define TESTS_INTEGRATION_PROG_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline, unused))

/* For a leaf function: gcc 12 leaves the frame out of one that needs no stack, whatever
 * -fno-omit-frame-pointer says, and a walk by frame pointers then misses its caller. */
#define KEEP_FRAME() __asm__ volatile("" : : "r"(__builtin_frame_address(0)))

#define NS_PER_S 1000000000ULL
#define NS_PER_MS 1000000ULL

/* A chain of dependent multiplications: its length in time is that of its count alone. */
INLINE uint64_t burn_steps(uint64_t x, unsigned int nr_steps)
{
	while (nr_steps--)
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
	__asm__ volatile("" : "+r"(x));
	return x;
}

INLINE uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* argv[nr], or fallback when there are fewer; a bad number ends the program with status 2. */
INLINE unsigned long arg_number(int argc, char **argv, int nr, unsigned long fallback)
{
	unsigned long value;
	char *end;

	if (nr >= argc)
		return fallback;
	errno = 0;
	value = strtoul(argv[nr], &end, 10);
	if (errno || *end || end == argv[nr]) {
		fprintf(stderr, "%s: '%s' is not a number\n", argv[0], argv[nr]);
		exit(2);
	}
	return value;
}

static volatile sig_atomic_t prog_stopped;

INLINE void prog_on_signal(int sig)
{
	(void)sig;
	prog_stopped = 1;
}

/* SIGTERM, SIGINT, or the alarm after seconds (0: never) set prog_stopped. */
INLINE void prog_stop_after(unsigned long seconds)
{
	struct sigaction sa = { .sa_handler = prog_on_signal };

	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGALRM, &sa, NULL);
	alarm((unsigned int)seconds);
}

/* For whoever starts the program and has to know that it has reached its steady state. */
INLINE void prog_say_ready(void)
{
	puts("ready");
	fflush(stdout);
}

#endif
