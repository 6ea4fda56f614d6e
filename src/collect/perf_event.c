/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/perf_event.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

struct reading {
	uint64_t count;
	uint64_t enabled_ns;
};

int perf_event_open_on(const struct perf_event_attr *attr, unsigned int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

void perf_event_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static bool get(int fd, struct reading *ret)
{
	return fd >= 0 && read(fd, ret, sizeof(*ret)) == sizeof(*ret);
}

uint64_t perf_event_count(int fd)
{
	struct reading r;

	return get(fd, &r) ? r.count : 0;
}

bool perf_event_is_dead(int fd, uint64_t *seen_ns)
{
	struct reading r;
	bool stood_still;

	if (!get(fd, &r))
		return true;
	stood_still = r.enabled_ns == *seen_ns;
	*seen_ns = r.enabled_ns;
	return stood_still;
}
