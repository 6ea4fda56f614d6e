/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/cpu_times.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define NS_PER_US (NS_PER_S / 1000000)
#define FIRST_LINE_MAX_BYTES 512 /* ten numbers of 20 digits */

static uint64_t ticks_ns(uint64_t ticks, unsigned int hz)
{
	return ticks * (NS_PER_S / hz);
}

int cpu_times_parse(const char *text, unsigned int hz, struct cpu_times *ret_times)
{
	uint64_t user, nice, system, idle, iowait, irq, softirq, steal;

	if (!hz || strncmp(text, "cpu ", 4) != 0 ||
	    sscanf(text,
		   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64,
		   &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal) != 8)
		return -EBADMSG;
	*ret_times = (struct cpu_times){
		.busy_ns = ticks_ns(user + nice + system + irq + softirq, hz),
		.idle_ns = ticks_ns(idle + iowait, hz),
		.steal_ns = ticks_ns(steal, hz),
	};
	return 0;
}

/* Reads the beginning of a file of the kernel. */
static int read_beginning(int dir_fd, const char *path, char text[FIRST_LINE_MAX_BYTES + 1])
{
	_cleanup_(closep) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, FIRST_LINE_MAX_BYTES);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	return 0;
}

int cpu_times_read(const char *stat_path, struct cpu_times *ret_times)
{
	char text[FIRST_LINE_MAX_BYTES + 1];
	long hz = sysconf(_SC_CLK_TCK);
	int r = read_beginning(AT_FDCWD, stat_path, text);

	if (r < 0)
		return r;
	return cpu_times_parse(text, hz > 0 ? (unsigned int)hz : 0, ret_times);
}

static uint64_t grown(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

struct cpu_times cpu_times_between(const struct cpu_times *from, const struct cpu_times *to)
{
	return (struct cpu_times){
		.busy_ns = grown(from->busy_ns, to->busy_ns),
		.idle_ns = grown(from->idle_ns, to->idle_ns),
		.steal_ns = grown(from->steal_ns, to->steal_ns),
	};
}

int cpu_time_of_process(pid_t pid, uint64_t *ret_ns)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) < 0)
		return -ESRCH;
	*ret_ns = (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
	return 0;
}

int cpu_time_of_thread(pid_t tid, uint64_t *ret_ns)
{
	char path[32], text[FIRST_LINE_MAX_BYTES + 1];

	(void)snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)tid);
	if (read_beginning(AT_FDCWD, path, text) < 0 || sscanf(text, "%" SCNu64, ret_ns) != 1)
		return -ESRCH;
	return 0;
}

int cpu_time_parse_cgroup(const char *text, uint64_t *ret_ns)
{
	uint64_t us;

	if (sscanf(text, "usage_usec %" SCNu64, &us) != 1 || us > UINT64_MAX / NS_PER_US)
		return -EBADMSG;
	*ret_ns = us * NS_PER_US;
	return 0;
}

int cpu_time_of_cgroup(int dir_fd, uint64_t *ret_ns)
{
	char text[FIRST_LINE_MAX_BYTES + 1];
	int r = read_beginning(dir_fd, "cpu.stat", text);

	return r < 0 ? r : cpu_time_parse_cgroup(text, ret_ns);
}
