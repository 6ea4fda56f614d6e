/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/own_usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"

uint64_t own_cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* A line of /proc/self/status that is a number of KiB. */
static uint64_t status_bytes(const char *key)
{
	FILE *f = fopen("/proc/self/status", "re");
	size_t len = strlen(key);
	uint64_t kib = 0;
	char line[256];

	while (f && !kib && fgets(line, sizeof(line), f))
		if (strncmp(line, key, len) == 0)
			kib = strtoull(line + len, NULL, 10);
	if (f)
		(void)fclose(f);
	return kib * 1024;
}

uint64_t own_rss_bytes(void)
{
	return status_bytes("VmRSS:");
}

/* From /proc, because ru_maxrss of getrusage() survives execve(). */
uint64_t own_peak_rss_bytes(void)
{
	return status_bytes("VmHWM:");
}

/* A thread that sleeps gives its CPU away voluntarily, once for each time that it is woken up. */
uint64_t own_wakeups(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) < 0 ? 0 : (uint64_t)usage.ru_nvcsw;
}
