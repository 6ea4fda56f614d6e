/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/thread_clock.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/map_reader.h"
#include "collect/programs.h"
#include "collect/task_iter.h"

static const struct {
	const char *program, *tracepoint;
} hooks[THREAD_CLOCK_NR_HOOKS] = {
	{ "pa_time_switch", "sched_switch" },
	{ "pa_time_wakeup", "sched_wakeup" },
	{ "pa_time_new", "sched_wakeup_new" },
};

static void close_hooks(struct thread_clock *c)
{
	for (size_t i = 0; i < THREAD_CLOCK_NR_HOOKS; i++) {
		if (c->links[i] >= 0)
			close(c->links[i]);
		c->links[i] = -1;
	}
}

void thread_clock_detach(struct thread_clock *c)
{
	close_hooks(c);
	*c = (struct thread_clock)THREAD_CLOCK_NONE;
}

int thread_clock_attach(struct thread_clock *c, struct programs *p, struct pa_error *err)
{
	c->programs = p;
	for (size_t i = 0; i < THREAD_CLOCK_NR_HOOKS; i++) {
		int fd = programs_program_fd(p, hooks[i].program);

		if (fd >= 0)
			fd = bpf_raw_tracepoint_open(hooks[i].tracepoint, fd);
		if (fd < 0)
			return error_set(err, -fd, "cannot attach to the kernel's %s: %s",
					 hooks[i].tracepoint, strerror(-fd));
		c->links[i] = fd;
	}
	return 0;
}

void thread_clock_begin(struct thread_clock *c, uint64_t begin_ns)
{
	if (!c->programs)
		return;
	c->begin_ns = begin_ns;
	programs_time_threads(c->programs, c->begin_ns, 0);
	programs_run_on_cpus(programs_program_fd(c->programs, "pa_time_begin"));
}

int thread_clock_add_silent(const struct thread_clock *c)
{
	_cleanup_(closep) int fd = -1;
	int r = c->begin_ns ? task_iter_open(c->programs, "pa_time_silent", &fd) : 0;
	char none[64]; /* the program writes nothing */
	ssize_t n;

	if (r < 0 || fd < 0)
		return r;
	do {
		n = read(fd, none, sizeof(none));
	} while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	return n < 0 ? -errno : 0;
}

void thread_clock_end(struct thread_clock *c, uint64_t end_ns)
{
	if (!c->begin_ns || c->end_ns)
		return;
	c->end_ns = end_ns;
	programs_time_threads(c->programs, c->begin_ns, c->end_ns);
	close_hooks(c);
}

struct reading {
	struct thread_times *to;
	uint64_t end_ns;
};

static int add_living(void *ctx, uint64_t task, const void *value)
{
	const struct reading *rd = ctx;
	const struct pa_thread_time *known = value;
	struct thread_time t = thread_time_until(known, rd->end_ns);

	rd->to->nr_waiting += known->state == PA_TIME_RUNNABLE;
	thread_times_add(rd->to, &t);
	return thread_times_list(rd->to, &t);
}

/* Lists ended threads individually; the sums of their CPUs include them already. */
static int list_ended(const struct thread_clock *c, struct thread_times *to)
{
	_cleanup_(freep) struct pa_ended_times *per_cpu = NULL;
	unsigned int nr;
	int r = programs_read_per_cpu(c->programs, "ended_times", sizeof(*per_cpu),
				      (void **)&per_cpu, &nr);

	for (unsigned int cpu = 0; r == 0 && cpu < nr; cpu++) {
		const struct pa_ended_times *e = &per_cpu[cpu];

		for (unsigned int i = 0; r == 0 && i < e->nr && i < PA_MAX_ENDED_THREADS; i++) {
			struct thread_time t = thread_time_of_ended(&e->threads[i]);

			r = thread_times_list(to, &t);
		}
	}
	return r;
}

static int add_ended(const struct thread_clock *c, struct thread_times *to)
{
	_cleanup_(freep) struct pa_time_stats *per_cpu = NULL;
	unsigned int nr;
	int r = programs_read_per_cpu(c->programs, "time_stats", sizeof(*per_cpu),
				      (void **)&per_cpu, &nr);

	for (unsigned int i = 0; r == 0 && i < nr; i++)
		thread_times_add_ended(to, &per_cpu[i]);
	return r;
}

int thread_clock_read(const struct thread_clock *c, struct thread_times *ret_times)
{
	struct reading rd = { ret_times, c->end_ns };
	int r;

	*ret_times = (struct thread_times){ 0 };
	if (!c->end_ns)
		return 0;
	programs_await_end(); /* not at the end of the capture, because it takes a while */
	r = add_ended(c, ret_times);
	if (r == 0)
		r = list_ended(c, ret_times);
	if (r == 0)
		r = map_read(programs_map_fd(c->programs, "thread_times"),
			     sizeof(struct pa_thread_time), add_living, &rd);
	thread_times_sort(ret_times);
	return r;
}
