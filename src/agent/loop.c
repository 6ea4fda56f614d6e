/* SPDX-License-Identifier: Apache-2.0 */
/* The session's thread: sleep, drain, settle, until the end; then name and write. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "agent/cost.h"
#include "agent/session.h"
#include "agent/summary.h"
#include "base/clock.h"
#include "base/error.h"

#define LOOK_EVERY_NS NS_PER_S
#define EXIT_MAX_NS (10 * NS_PER_S)
#define SOON_MS 2 /* capture_is_in_a_hurry(), or the last target is about to be gone */

struct loop {
	struct pa_session *s;
	int epoll_fd; /* owned */
	int drain_fd; /* owned: fires every drain interval */
	int end_fd;   /* owned: fires when the duration is over */
	uint64_t looked_ns;
	uint64_t exited_ns;          /* when no target was left; 0: some are */
	struct pa_tick_stats *ticks; /* owned; of each CPU, when they were looked at; NULL: never */
};

static int add_timer(struct loop *l, uint64_t first_ns, uint64_t every_ns, int *ret_fd)
{
	struct itimerspec t = {
		.it_value = { (time_t)(first_ns / NS_PER_S), (long)(first_ns % NS_PER_S) },
		.it_interval = { (time_t)(every_ns / NS_PER_S), (long)(every_ns % NS_PER_S) },
	};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return timerfd_settime(fd, 0, &t, NULL) < 0 ? -errno : 0;
}

static int watch(struct loop *l, int fd, uint32_t how)
{
	struct epoll_event e = { .events = EPOLLIN | how, .data.fd = fd };

	return epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

static int loop_init(struct loop *l)
{
	const struct pa_options *o = &l->s->settings.o;
	uint64_t drain_ns = o->drain_interval_ms * NS_PER_MS;
	int r;

	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0)
		return -errno;
	r = add_timer(l, drain_ns, drain_ns, &l->drain_fd);
	if (r == 0 && o->duration_ns)
		r = add_timer(l, o->duration_ns, 0, &l->end_fd);
	if (r == 0)
		r = watch(l, l->drain_fd, 0);
	if (r == 0 && l->end_fd >= 0)
		r = watch(l, l->end_fd, 0);
	if (r == 0)
		r = watch(l, l->s->wake_fd, 0);
	/* When a record asks for it, and not because there are others by then: samples wait for the
	 * timer. */
	if (r == 0)
		r = watch(l, programs_ring_fd(l->s->programs), EPOLLET);
	if (r == 0)
		r = watch(l, sideband_fd(l->s->sideband), 0);
	if (r == 0 && capture_fd(l->s->capture) >= 0)
		r = watch(l, capture_fd(l->s->capture), 0);
	return r;
}

static void loop_done(struct loop *l)
{
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
	if (l->drain_fd >= 0)
		close(l->drain_fd);
	if (l->end_fd >= 0)
		close(l->end_fd);
	free(l->ticks);
}

static void publish(struct pa_session *s)
{
	const struct capture_stats *st = &s->capture->stats;

	pthread_mutex_lock(&s->lock);
	s->progress.nr_samples = st->nr_kept;
	s->progress.nr_stacks = s->capture->profile->nr_stacks;
	s->progress.nr_lost = st->nr_bad + st->nr_model_full + st->nr_no_memory + s->nr_ring_full;
	s->progress.elapsed_ns = (s->end_ns ? s->end_ns : clock_mono_ns()) - s->start_ns;
	pthread_mutex_unlock(&s->lock);
}

/* The ring before the side-band: whatever happened before a sample is then in the side-band. */
static int turn(struct pa_session *s, bool is_last)
{
	int r;

	capture_begin_turn(s->capture);
	r = programs_drain(s->programs, capture_record, s->capture);
	if (r == 0)
		r = sideband_drain(s->sideband, capture_event, s->capture);
	if (r == 0)
		r = capture_settle(s->capture, is_last);
	session_refill_stack_budget(s);
	publish(s);
	return r;
}

/* What the kernel side has lost, for the progress line; and which CPUs have not ticked since the last
 * look: the others are as they were, and need not be asked. */
static void look_at_ticks(struct loop *l, struct cpus *ret_silent)
{
	struct pa_tick_stats *per_cpu = NULL;
	uint64_t ring_full = 0;
	unsigned int nr = 0;
	int r = programs_tick_stats(l->s->programs, &per_cpu, &nr);

	memset(ret_silent, r < 0 ? 0xff : 0, sizeof(*ret_silent));
	for (unsigned int i = 0; i < nr; i++) {
		ring_full += per_cpu[i].ring_full;
		if (!l->ticks || per_cpu[i].ticks == l->ticks[i].ticks)
			cpus_add(ret_silent, i);
	}
	if (r < 0)
		return;
	l->s->nr_ring_full = ring_full;
	free(l->ticks);
	l->ticks = per_cpu;
}

static void once_a_second(struct loop *l)
{
	uint64_t now = clock_mono_ns();
	struct cpus online, silent;
	int r;

	if (now - l->looked_ns < LOOK_EVERY_NS)
		return;
	l->looked_ns = now;
	look_at_ticks(l, &silent);
	session_recheck_targets(l->s);
	r = cpus_read(CPUS_ONLINE_PATH, &online);
	if (r == 0)
		r = sideband_follow(l->s->sideband, &online, &silent);
	if (r == 0)
		r = events_follow(l->s->events, &online, &silent);
	if (r < 0)
		log_warn(&l->s->log, "collect: a CPU that came online is not sampled: %s",
			 strerror(-r));
}

/* One that waits for others in its exit may never be. */
static bool are_gone(struct loop *l)
{
	return session_targets_are_gone(l->s) || clock_mono_ns() - l->exited_ns > EXIT_MAX_NS;
}

static bool is_over(struct loop *l)
{
	struct pa_session *s = l->s;
	uint64_t fired;

	/* First: whoever asks to stop may do so because the targets are gone. */
	s->targets_exited = !s->settings.o.all && programs_nr_targets(s->programs) == 0;
	if (!s->targets_exited)
		l->exited_ns = 0;
	else if (!l->exited_ns)
		l->exited_ns = clock_mono_ns();
	if (atomic_load(&s->stop) || (s->targets_exited && are_gone(l)))
		return true;
	return l->end_fd >= 0 && read(l->end_fd, &fired, sizeof(fired)) == sizeof(fired);
}

static bool is_in_a_hurry(const struct pa_session *s)
{
	return s->targets_exited || capture_is_in_a_hurry(s->capture);
}

static int run(struct loop *l)
{
	while (!is_over(l)) {
		struct epoll_event events[8];
		uint64_t fired;
		int timeout_ms = is_in_a_hurry(l->s) ? SOON_MS : -1;
		int r = epoll_wait(l->epoll_fd, events, 8, timeout_ms);

		if (r < 0 && errno != EINTR)
			return -errno;
		(void)!read(l->drain_fd, &fired, sizeof(fired)); /* not due yet is fine */
		r = turn(l->s, false);
		if (r < 0)
			return r;
		once_a_second(l);
	}
	return 0;
}

/* No tick after this one; what is in the rings is the rest. */
static int finish_sampling(struct pa_session *s)
{
	struct profile *p = s->capture->profile;
	int r;

	events_disable(s->events);
	s->end_ns = clock_mono_ns();
	p->time_ns = (int64_t)s->start_real_ns;
	p->duration_ns = (int64_t)(s->end_ns - s->start_ns);
	publish(s);
	atomic_store(&s->phase, PA_PHASE_NAMING); /* from here on there is nothing to stop */
	r = turn(s, true);
	atomic_store(&s->is_drained, true);
	/* Names may take a while, during which the machine pays for nothing. */
	programs_detach(s->programs);
	s->sideband = sideband_free(s->sideband);
	s->end_cpu_ns = cost_cpu_ns();
	s->end_rss_bytes = cost_peak_rss_bytes();
	return r;
}

static int write_output(struct pa_session *s, struct output *o)
{
	int r = o->writer->write(s->capture->profile, o->file, &s->cancel, &s->error);

	if (r == 0)
		r = outfile_commit(o->file, &s->error);
	return r;
}

/* Every output gets its chance; the first failure is the session's. */
static int write_outputs(struct pa_session *s)
{
	int result = 0;

	for (unsigned int i = 0; i < s->nr_outputs; i++) {
		int r = atomic_load(&s->cancel) ? -ECANCELED : write_output(s, &s->outputs[i]);

		if (r < 0 && result == 0)
			result = r;
	}
	return result;
}

static int sample(struct pa_session *s)
{
	struct loop l = { .s = s, .epoll_fd = -1, .drain_fd = -1, .end_fd = -1 };
	int r = loop_init(&l), finished;

	l.looked_ns = clock_mono_ns();
	if (r == 0)
		r = run(&l);
	finished = finish_sampling(s);
	loop_done(&l);
	return r < 0 ? r : finished;
}

static int name_and_write(struct pa_session *s)
{
	int r = capture_name(s->capture, &s->cancel);

	if (r < 0)
		return r;
	atomic_store(&s->phase, PA_PHASE_WRITING);
	r = write_outputs(s);
	if (r == -ECANCELED)
		return r;
	/* A failed output does not take the summary with it. */
	if (summary_new(s, &s->summary) < 0 && r == 0)
		r = -ENOMEM;
	return r;
}

void *session_thread(void *session)
{
	struct pa_session *s = session;
	uint64_t one = 1;
	int r = sample(s);

	if (r == 0)
		r = name_and_write(s);
	if (r < 0)
		error_set(&s->error, -r, r == -ECANCELED ? "cancelled" : "the capture failed: %s",
			  strerror(-r));
	s->result = r;
	publish(s);
	atomic_store(&s->phase, PA_PHASE_DONE);
	(void)!write(s->done_fd, &one, sizeof(one)); /* an empty counter takes it */
	return NULL;
}
