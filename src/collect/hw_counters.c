/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/hw_counters.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/perf_event.h"

struct hw_counters {
	unsigned int nr_cpus;   /* possible CPUs */
	unsigned int available; /* a bit per kind */
	/* why the first unavailable kind could not be opened; 0: all could be */
	int error;
	int maps[PA_NR_COUNTERS]; /* borrowed; -1: not published */
	int fds[];                /* owned; by kind and CPU; -1: not open */
};

static const uint64_t configs[PA_NR_COUNTERS] = {
	[PA_COUNTER_CYCLES] = PERF_COUNT_HW_CPU_CYCLES,
	[PA_COUNTER_INSTRUCTIONS] = PERF_COUNT_HW_INSTRUCTIONS,
	[PA_COUNTER_CACHE_MISSES] = PERF_COUNT_HW_CACHE_MISSES,
};

static int *event_fd_of(struct hw_counters *c, unsigned int kind, unsigned int cpu)
{
	return &c->fds[kind * c->nr_cpus + cpu];
}

static void close_kind(struct hw_counters *c, unsigned int kind)
{
	for (unsigned int cpu = 0; cpu < c->nr_cpus; cpu++)
		perf_event_close(event_fd_of(c, kind, cpu));
}

struct hw_counters *hw_counters_free(struct hw_counters *c)
{
	for (unsigned int kind = 0; c && kind < PA_NR_COUNTERS; kind++)
		close_kind(c, kind);
	free(c);
	return NULL;
}

static int open_event(struct hw_counters *c, unsigned int kind, unsigned int cpu)
{
	const struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
					      .size = sizeof(attr),
					      .config = configs[kind],
					      .read_format = PERF_EVENT_FORMAT };
	int fd = perf_event_open_on(&attr, cpu);

	if (fd < 0)
		return fd;
	*event_fd_of(c, kind, cpu) = fd;
	return 0;
}

/* Opens a kind on all CPUs, or on none: a sum over only some CPUs would be meaningless. One that went
 * offline a moment ago (-ENODEV) is for hw_counters_follow(). */
static int open_kind(struct hw_counters *c, unsigned int kind, const struct cpus *online)
{
	int result = -ENODEV, r = 0;

	for (unsigned int cpu = 0; cpu < c->nr_cpus && (r == 0 || r == -ENODEV); cpu++) {
		if (!cpus_has(online, cpu))
			continue;
		r = open_event(c, kind, cpu);
		if (result < 0 || r != -ENODEV)
			result = r;
	}
	if (result < 0)
		close_kind(c, kind);
	return result;
}

int hw_counters_open(const struct cpus *online, struct hw_counters **ret_counters)
{
	unsigned int nr_cpus = cpus_possible();
	struct hw_counters *c =
		malloc(sizeof(*c) + (size_t)nr_cpus * PA_NR_COUNTERS * sizeof(c->fds[0]));

	if (!c)
		return -ENOMEM;
	*c = (struct hw_counters){ .nr_cpus = nr_cpus };
	memset(c->maps, 0xff, sizeof(c->maps));
	memset(c->fds, 0xff, (size_t)nr_cpus * PA_NR_COUNTERS * sizeof(c->fds[0]));
	for (unsigned int kind = 0; kind < PA_NR_COUNTERS; kind++) {
		int r = open_kind(c, kind, online);

		if (r == 0)
			c->available |= 1u << kind;
		else if (!c->error)
			c->error = -r;
	}
	*ret_counters = c;
	return 0;
}

unsigned int hw_counters_available(const struct hw_counters *c)
{
	return c->available;
}

const char *hw_counters_problem(const struct hw_counters *c)
{
	if (c->available)
		return NULL;
	switch (c->error) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
	case EOPNOTSUPP:
		return "this machine has none, or its hypervisor hides them";
	case EACCES:
	case EPERM:
		return "not permitted: needs CAP_PERFMON, or a lower sysctl "
		       "kernel.perf_event_paranoid";
	case EMFILE:
		return "too many open files";
	default:
		return "the kernel cannot open them";
	}
}

static int publish_event(struct hw_counters *c, unsigned int kind, unsigned int cpu)
{
	return bpf_map_update_elem(c->maps[kind], &cpu, event_fd_of(c, kind, cpu), BPF_ANY);
}

int hw_counters_publish(struct hw_counters *c, const int map_fds[PA_NR_COUNTERS])
{
	int r = 0;

	memcpy(c->maps, map_fds, sizeof(c->maps));
	for (unsigned int kind = 0; kind < PA_NR_COUNTERS; kind++)
		for (unsigned int cpu = 0; cpu < c->nr_cpus && r == 0; cpu++)
			if (*event_fd_of(c, kind, cpu) >= 0)
				r = publish_event(c, kind, cpu);
	return r;
}

/* Reopens an event if necessary: the event of a CPU that went offline stays dead when the CPU
 * returns. */
static int follow_cpu(struct hw_counters *c, unsigned int kind, unsigned int cpu, bool is_online,
		      bool is_still)
{
	int *fd = event_fd_of(c, kind, cpu), r;

	if (is_still)
		perf_event_close(fd);
	if (is_online == (*fd >= 0))
		return 0;
	if (!is_online) {
		perf_event_close(fd);
		return bpf_map_delete_elem(c->maps[kind], &cpu);
	}
	r = open_event(c, kind, cpu);
	return r < 0 ? r : publish_event(c, kind, cpu);
}

int hw_counters_follow(struct hw_counters *c, const struct cpus *online, const struct cpus *still)
{
	int result = 0;

	for (unsigned int kind = 0; kind < PA_NR_COUNTERS; kind++)
		for (unsigned int cpu = 0; (c->available >> kind & 1) && cpu < c->nr_cpus; cpu++) {
			int r = follow_cpu(c, kind, cpu, cpus_has(online, cpu),
					   cpus_has(still, cpu));

			if (r < 0)
				result = r;
		}
	return result;
}
