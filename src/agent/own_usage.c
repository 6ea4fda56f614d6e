/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/own_usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

uint64_t own_cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* From /proc, because ru_maxrss of getrusage() survives execve(). */
uint64_t own_peak_rss_bytes(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	uint64_t kib = 0;
	char line[256];

	while (f && !kib && fgets(line, sizeof(line), f))
		if (strncmp(line, "VmHWM:", 6) == 0)
			kib = strtoull(line + 6, NULL, 10);
	if (f)
		(void)fclose(f);
	return kib * 1024;
}
