/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/sideband.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "collect/perf_event.h"
#include "collect/perf_ring.h"

#define RING_MIN_PAGES 128u /* fits the default memory-lock limit of every CPU without privileges */
#define RING_MAX_PAGES 1024u
#define RINGS_MAX_PAGES 4096u /* for all CPUs together: 16 MiB */
#define MERGE_MAX_EVENTS (1u << 24)
#define MERGE_MAX_PATH_BYTES (1u << 30)

struct cpu_ring {
	int fd;               /* owned: inodes, forks, execs, exits; -1: none now */
	int build_id_fd;      /* owned: build-ids, written to the same ring */
	uint64_t build_id_id; /* the kernel's ID of that event; 0: none */
	struct perf_ring ring;
	uint64_t seen_ns; /* for perf_event_is_dead() */
	bool is_doubted;  /* test again: detecting a dead event takes two readings */
	bool is_over;     /* to be drained once more, then closed */
};

/* An event to be sorted. Its path is an offset, because `paths` still grows. */
struct pending {
	struct process_event event;
	size_t path_at;
	uint32_t order; /* of arrival, which decides between equal times */
};

struct sideband {
	const struct log *log; /* borrowed */
	int epoll_fd;          /* owned */
	bool has_build_ids;
	struct pending *pending; /* owned */
	uint32_t nr_pending, cap_pending;
	struct buf paths;
	uint64_t nr_bad;
	uint64_t nr_gaps;
	bool gap_ended; /* a CPU is followed again, or for the first time */
	unsigned int nr_cpus;
	struct cpu_ring cpus[]; /* by CPU number */
};

static void close_cpu(struct cpu_ring *c)
{
	perf_ring_close(&c->ring);
	perf_event_close(&c->build_id_fd);
	perf_event_close(&c->fd); /* also removes it from the epoll set */
	c->is_over = c->is_doubted = false;
	c->build_id_id = 0;
	c->seen_ns = 0;
}

struct sideband *sideband_free(struct sideband *s)
{
	if (!s)
		return NULL;
	for (unsigned int i = 0; i < s->nr_cpus; i++)
		close_cpu(&s->cpus[i]);
	perf_event_close(&s->epoll_fd);
	free(s->pending);
	buf_done(&s->paths);
	free(s);
	return NULL;
}

static struct perf_event_attr base_attr(void)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER,
		.sample_id_all = 1,
		.read_format = PERF_EVENT_FORMAT,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.mmap = 1,
		.mmap2 = 1,
		.watermark = 1,
		.wakeup_watermark = RING_MIN_PAGES / 2 * 4096,
	};
}

/* In a record, the build-id replaces the inode, and both are needed: hence a second event. */
static void open_build_ids(struct sideband *s, struct cpu_ring *c, unsigned int cpu)
{
	struct perf_event_attr attr = base_attr();

	attr.build_id = 1;
	c->build_id_fd = perf_event_open_on(&attr, cpu);
	if (c->build_id_fd >= 0 && ioctl(c->build_id_fd, PERF_EVENT_IOC_SET_OUTPUT, c->fd) == 0 &&
	    ioctl(c->build_id_fd, PERF_EVENT_IOC_ID, &c->build_id_id) == 0) {
		s->has_build_ids = true;
		return;
	}
	perf_event_close(&c->build_id_fd);
	c->build_id_id = 0;
}

static unsigned int ring_pages(const struct sideband *s)
{
	unsigned int pages = RING_MIN_PAGES;

	while (pages < RING_MAX_PAGES && pages * 2 * s->nr_cpus <= RINGS_MAX_PAGES)
		pages *= 2;
	return pages;
}

static int open_cpu(struct sideband *s, unsigned int cpu)
{
	struct cpu_ring *c = &s->cpus[cpu];
	struct perf_event_attr attr = base_attr();
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = cpu };
	int r;

	attr.comm = 1;
	attr.comm_exec = 1;
	attr.task = 1;
	attr.ksymbol = 1;
	c->fd = perf_event_open_on(&attr, cpu);
	if (c->fd < 0) {
		r = c->fd;
		c->fd = -1;
		return r;
	}
	r = perf_ring_open(&c->ring, c->fd, ring_pages(s));
	if (r == 0 && epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, c->fd, &ev) < 0)
		r = -errno;
	if (r < 0)
		close_cpu(c);
	else
		open_build_ids(s, c, cpu);
	return r;
}

int sideband_open(const struct cpus *online, const struct log *log, struct sideband **ret_sideband,
		  struct pa_error *err)
{
	_cleanup_(sideband_freep) struct sideband *s = NULL;
	unsigned int nr_cpus = cpus_possible();
	int r;

	s = calloc(1, sizeof(*s) + nr_cpus * sizeof(s->cpus[0]));
	if (!s)
		return -ENOMEM;
	s->nr_cpus = nr_cpus;
	s->epoll_fd = -1;
	s->log = log;
	s->paths = BUF_INIT(MERGE_MAX_PATH_BYTES);
	for (unsigned int i = 0; i < s->nr_cpus; i++)
		s->cpus[i] = (struct cpu_ring){ .fd = -1, .build_id_fd = -1 };
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		return -errno;
	r = sideband_follow(s, online, online);
	if (r < 0)
		return error_set(err, -r, "cannot follow process events: %s", strerror(-r));
	s->gap_ended = false; /* the first CPUs have no gap before them */
	*ret_sideband = TAKE(s);
	return 0;
}

bool sideband_has_build_ids(const struct sideband *s)
{
	return s->has_build_ids;
}

static int follow_cpu(struct sideband *s, unsigned int cpu)
{
	int r = open_cpu(s, cpu);

	if (r == 0)
		s->gap_ended = true;
	return r;
}

/* True if the event of a CPU is dead. `silent` refers to the triggers' events, which may be younger
 * than this one: the second reading is made even if the silence has ended by then. */
static bool is_dead(struct cpu_ring *c, bool is_silent)
{
	bool dead = (is_silent || c->is_doubted) && perf_event_is_dead(c->fd, &c->seen_ns);

	c->is_doubted = is_silent && !dead;
	return dead;
}

int sideband_follow(struct sideband *s, const struct cpus *online, const struct cpus *silent)
{
	int result = 0;

	for (unsigned int i = 0; i < s->nr_cpus; i++) {
		struct cpu_ring *c = &s->cpus[i];
		bool is_online = cpus_has(online, i);
		int r = 0;

		if (c->fd >= 0 && (!is_online || is_dead(c, cpus_has(silent, i))))
			c->is_over = true;
		else if (c->fd < 0 && is_online)
			r = follow_cpu(s, i);
		if (r < 0 && r != -ENODEV) /* ENODEV: the CPU just went offline */
			result = r;
	}
	return result;
}

int sideband_fd(const struct sideband *s)
{
	return s->epoll_fd;
}

struct drain {
	struct sideband *s;
	uint64_t build_id_id;
};

static int keep_event(struct sideband *s, const struct process_event *e)
{
	struct pending *p;
	int r = ARRAY_RESERVE(s->pending, s->cap_pending, s->nr_pending + 1, MERGE_MAX_EVENTS);

	if (r < 0)
		return r;
	p = &s->pending[s->nr_pending];
	*p = (struct pending){ .event = *e, .path_at = s->paths.len, .order = s->nr_pending };
	if (e->path) {
		r = buf_append(&s->paths, e->path, strlen(e->path) + 1);
		if (r < 0)
			return r;
	}
	s->nr_pending++;
	return 0;
}

static int on_record(void *ctx, const void *bytes, size_t size)
{
	struct drain *d = ctx;
	struct process_event e;
	int r = sideband_decode(bytes, size, d->build_id_id, &e);

	if (r < 0)
		d->s->nr_bad++;
	return r > 0 ? keep_event(d->s, &e) : 0;
}

static int by_time(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	if (x->event.time_ns != y->event.time_ns)
		return x->event.time_ns < y->event.time_ns ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

static int read_rings(struct sideband *s)
{
	for (unsigned int i = 0; i < s->nr_cpus; i++) {
		struct cpu_ring *c = &s->cpus[i];
		struct drain d = { s, c->build_id_id };
		int r;

		if (c->fd < 0)
			continue;
		r = perf_ring_drain(&c->ring, on_record, &d);
		if (r < 0 && r != -EBADMSG)
			return r;
		if (c->is_over) {
			close_cpu(c);
			s->nr_gaps++; /* events there are lost until it is opened again */
		}
	}
	return 0;
}

/* Reports lost events. Also if a CPU is followed that was not before: events may have been lost on
 * it until just now, so that only a rescan after this is complete. */
static int report_gaps(struct sideband *s, sideband_fn fn, void *ctx)
{
	struct process_event e = { .type = EVENT_LOST, .nr_lost = s->nr_gaps + s->nr_bad };

	bool is_reported = e.nr_lost || s->gap_ended;

	s->nr_gaps = s->nr_bad = 0;
	s->gap_ended = false;
	return is_reported ? fn(ctx, &e) : 0;
}

int sideband_drain(struct sideband *s, sideband_fn fn, void *ctx)
{
	int r;

	s->nr_pending = 0;
	buf_clear(&s->paths);
	r = read_rings(s);
	if (r == 0)
		r = report_gaps(s, fn, ctx);
	if (r < 0)
		return r;
	if (s->nr_pending)
		qsort(s->pending, s->nr_pending, sizeof(*s->pending), by_time);
	for (uint32_t i = 0; i < s->nr_pending && r >= 0; i++) {
		struct process_event *e = &s->pending[i].event;

		if (e->path)
			e->path = s->paths.data + s->pending[i].path_at;
		r = fn(ctx, e);
	}
	return r < 0 ? r : 0;
}
