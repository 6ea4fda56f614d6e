/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/run_clock.h"

#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* The second number of schedstat; 0 if the kernel does not have it. */
static uint64_t queued_ns(int sched_fd)
{
	char text[128], *at = text;
	ssize_t n = sched_fd < 0 ? -1 : pread(sched_fd, text, sizeof(text) - 1, 0);
	uint64_t value = 0;

	text[n > 0 ? n : 0] = '\0';
	while (*at && *at != ' ')
		at++;
	for (at += *at == ' '; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (uint64_t)(*at - '0');
	return value;
}

/* The first number of schedstat, the CPU time, is only updated at ticks; the CPU clock is exact. */
uint64_t run_clock_ns(int sched_fd)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) + queued_ns(sched_fd);
}
