/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/events.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/perf_event.h"

struct cpu_event {
	int fd;           /* owned; -1: none now */
	int link_fd;      /* owned; -1: attached by ioctl */
	uint64_t count;   /* count of this CPU's previous events, now closed */
	uint64_t seen_ns; /* for perf_event_is_dead() */
	bool was_used;
};

struct events {
	struct perf_event_attr attr;
	uint64_t period; /* 0: every sample has its own period */
	int prog_fd;     /* borrowed */
	bool is_enabled;
	unsigned int nr_cpus;
	struct cpu_event cpus[]; /* by number */
};

static void close_cpu(struct cpu_event *c)
{
	c->count += perf_event_count(c->fd);
	c->seen_ns = 0;
	perf_event_close(&c->link_fd);
	perf_event_close(&c->fd);
}

struct events *events_free(struct events *e)
{
	if (!e)
		return NULL;
	for (unsigned int i = 0; i < e->nr_cpus; i++)
		close_cpu(&e->cpus[i]);
	free(e);
	return NULL;
}

/* libbpf's own attach function enables the event at once, but none may run before all are attached.
 * Links exist since 5.15. */
static int attach_program(struct cpu_event *c, int prog_fd)
{
	c->link_fd = bpf_link_create(prog_fd, c->fd, BPF_PERF_EVENT, NULL);
	if (c->link_fd >= 0)
		return 0;
	c->link_fd = -1;
	return ioctl(c->fd, PERF_EVENT_IOC_SET_BPF, prog_fd) < 0 ? -errno : 0;
}

static int open_cpu(struct events *e, unsigned int cpu)
{
	struct cpu_event *c = &e->cpus[cpu];
	int r;

	c->fd = perf_event_open_on(&e->attr, cpu);
	if (c->fd < 0) {
		r = c->fd;
		c->fd = -1;
		return r;
	}
	r = attach_program(c, e->prog_fd);
	if (r == 0 && e->is_enabled && ioctl(c->fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		r = -errno;
	if (r < 0)
		close_cpu(c);
	else
		c->was_used = true;
	return r;
}

static int open_failed(int r, const struct events *e, unsigned int cpu, struct pa_error *err)
{
	if (e->attr.type == PERF_TYPE_HARDWARE &&
	    (r == -ENOENT || r == -EOPNOTSUPP || r == -ENODEV))
		return error_set(
			err, -r,
			"pa_options.event cycles: this machine has no hardware cycle counter; use "
			"pa_options.event cpu-clock");
	if (r == -EACCES || r == -EPERM)
		return error_set(err, -r,
				 "not allowed to sample CPU %u: CAP_PERFMON (on some kernels "
				 "CAP_SYS_ADMIN) is missing, see kernel.perf_event_paranoid",
				 cpu);
	return error_set(err, -r, "cannot sample CPU %u: %s", cpu, strerror(-r));
}

int events_open(const struct perf_event_attr *attr, int prog_fd, const struct cpus *online,
		struct events **ret_events, struct pa_error *err)
{
	_cleanup_(events_freep) struct events *e = NULL;
	unsigned int nr_cpus = cpus_possible();

	e = calloc(1, sizeof(*e) + nr_cpus * sizeof(e->cpus[0]));
	if (!e)
		return -ENOMEM;
	e->nr_cpus = nr_cpus;
	for (unsigned int i = 0; i < e->nr_cpus; i++)
		e->cpus[i] = (struct cpu_event){ .fd = -1, .link_fd = -1 };
	e->prog_fd = prog_fd;
	e->attr = *attr;
	e->attr.size = sizeof(e->attr);
	e->attr.disabled = 1;
	e->attr.read_format = PERF_EVENT_FORMAT;
	e->period = attr->freq ? 0 : attr->sample_period;
	for (unsigned int cpu = 0; cpu < e->nr_cpus; cpu++) {
		int r = cpus_has(online, cpu) ? open_cpu(e, cpu) : 0;

		if (r < 0 && r != -ENODEV) /* ENODEV: the CPU just went offline */
			return open_failed(r, e, cpu, err);
		if (r == -ENODEV && attr->type == PERF_TYPE_HARDWARE)
			return open_failed(r, e, cpu, err);
	}
	if (!events_nr_cpus(e))
		return error_set(err, ENODEV, "no CPU could be sampled");
	*ret_events = TAKE(e);
	return 0;
}

int events_enable(struct events *e)
{
	e->is_enabled = true;
	for (unsigned int i = 0; i < e->nr_cpus; i++)
		if (e->cpus[i].fd >= 0 && ioctl(e->cpus[i].fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			return -errno;
	return 0;
}

int events_follow(struct events *e, const struct cpus *online, const struct cpus *silent)
{
	int result = 0;

	for (unsigned int i = 0; i < e->nr_cpus; i++) {
		struct cpu_event *c = &e->cpus[i];
		bool is_online = cpus_has(online, i), is_doubted = cpus_has(silent, i);
		int r = 0;

		if (c->fd >= 0 &&
		    (!is_online || (is_doubted && perf_event_is_dead(c->fd, &c->seen_ns))))
			close_cpu(c);
		if (c->fd < 0 && is_online)
			r = open_cpu(e, i);
		if (r < 0)
			result = r;
	}
	return result;
}

void events_disable(struct events *e)
{
	for (unsigned int i = 0; i < e->nr_cpus; i++)
		if (e->cpus[i].fd >= 0)
			(void)ioctl(e->cpus[i].fd, PERF_EVENT_IOC_DISABLE, 0); /* cannot fail */
	e->is_enabled = false;
}

uint64_t events_due(uint64_t count, uint64_t period, uint64_t nr_delivered, uint64_t weight)
{
	uint64_t mean = nr_delivered ? weight / nr_delivered : 0;

	if (period)
		return count / period > nr_delivered ? count / period : nr_delivered;
	return nr_delivered + (mean && count > weight ? (count - weight) / mean : 0);
}

static uint64_t cpu_due(const struct events *e, const struct cpu_event *c,
			const struct pa_tick_stats *st)
{
	return events_due(c->count + perf_event_count(c->fd), e->period, st->ticks, st->weight);
}

uint64_t events_period(const struct events *e)
{
	return e->period;
}

void events_read_counts(const struct events *e, uint64_t *ret_counts, unsigned int nr_cpus)
{
	for (unsigned int i = 0; i < nr_cpus; i++)
		ret_counts[i] = i < e->nr_cpus && e->cpus[i].was_used
					? e->cpus[i].count + perf_event_count(e->cpus[i].fd)
					: 0;
}

uint64_t events_missing(const uint64_t *counts, uint64_t period,
			const struct pa_tick_stats *per_cpu, unsigned int nr_cpus)
{
	uint64_t missing = 0;

	for (unsigned int i = 0; i < nr_cpus; i++) {
		const struct pa_tick_stats *st = &per_cpu[i];
		uint64_t due = events_due(counts[i], period, st->ticks, st->weight);

		if (due > st->ticks + 1) /* the last tick may be in flight */
			missing += due - st->ticks - 1;
	}
	return missing;
}

uint64_t events_ticks_due(const struct events *e, const struct pa_tick_stats *per_cpu,
			  unsigned int nr_cpus)
{
	uint64_t due = 0;

	for (unsigned int i = 0; i < nr_cpus && i < e->nr_cpus; i++)
		if (e->cpus[i].was_used)
			due += cpu_due(e, &e->cpus[i], &per_cpu[i]);
	return due;
}

unsigned int events_nr_cpus(const struct events *e)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < e->nr_cpus; i++)
		n += e->cpus[i].was_used;
	return n;
}
