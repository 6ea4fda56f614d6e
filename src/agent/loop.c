/* SPDX-License-Identifier: Apache-2.0 */
/* The session's thread: sleeps, drains the rings and settles records until the capture ends; then
 * resolves symbols and writes. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "agent/own_usage.h"
#include "agent/session.h"
#include "agent/summary.h"
#include "base/clock.h"
#include "base/error.h"

#define LOOK_EVERY_NS NS_PER_S
#define EXIT_MAX_NS (10 * NS_PER_S)
#define REAP_MAX_NS (500 * NS_PER_MS)
#define SOON_MS 2 /* pipe_is_in_a_hurry(), or the last target is about to exit */

struct loop {
	struct pa_session *s;
	int epoll_fd; /* owned */
	int drain_fd; /* owned: fires every drain interval */
	int end_fd;   /* owned: fires when the duration is over */
	uint64_t looked_ns;
	uint64_t exited_ns; /* when the last target had exited; 0: some are left */
	uint64_t gone_ns;   /* ... when all of them were found to be gone; 0: not yet */
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
	/* Wakes up only for records that request it: samples wait for the timer. */
	if (r == 0)
		r = watch(l, programs_ring_fd(l->s->programs), EPOLLET);
	if (r == 0 && l->s->sideband)
		r = watch(l, sideband_fd(l->s->sideband), 0);
	if (r == 0 && pipe_fd(l->s->pipe) >= 0)
		r = watch(l, pipe_fd(l->s->pipe), 0);
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
}

static void add_progress(const struct pa_session *s, uint32_t origin, struct pa_progress *to)
{
	const struct pipe_stats *pipe = pipe_stats(s->pipe, (uint8_t)origin);
	struct model_stats st = session_model_stats(s, origin);

	if (!triggers_get(s->triggers, origin)->intervals) /* otherwise they come at the end */
		to->nr_samples += st.nr_kept;
	to->nr_stacks += s->models[origin].now->profile->nr_stacks;
	to->nr_lost += pipe->nr_bad + pipe->nr_no_memory + st.nr_full + st.nr_no_memory;
}

static void publish(struct pa_session *s)
{
	struct pa_progress sum = { .nr_lost = triggers_nr_lost(s->triggers) };
	struct trigger_intervals ended = triggers_intervals(s->triggers);
	struct pa_sched_counts switches = { 0 };

	if (s->sched && !session_takes_samples(s) &&
	    sched_collector_counts(s->sched, &switches) == 0)
		sum.nr_samples = switches.recorded;
	world_lock(s->world);
	for (uint32_t i = 0; i < triggers_nr(s->triggers); i++)
		add_progress(s, i, &sum);
	world_unlock(s->world);
	pthread_mutex_lock(&s->lock);
	s->progress.nr_samples = sum.nr_samples;
	s->progress.nr_stacks = sum.nr_stacks;
	s->progress.nr_lost = sum.nr_lost;
	s->progress.nr_intervals = ended.nr;
	s->progress.off_cpu_ns = ended.ns;
	s->progress.elapsed_ns = (s->end_ns ? s->end_ns : clock_mono_ns()) - s->start_ns;
	pthread_mutex_unlock(&s->lock);
}

/* A notice about a process whose code is of no interest. */
static int drop_record(void *ctx, const void *bytes, size_t size)
{
	return 0;
}

/* Drains the ring before the side-band, so that the side-band then contains everything that
 * happened before each sample. */
int session_turn(struct pa_session *s, bool is_last)
{
	int r = s->sched ? sched_collector_turn(s->sched) : 0;

	if (r < 0)
		return r;
	if (!session_takes_samples(s)) {
		publish(s);
		return programs_drain(s->programs, drop_record, NULL);
	}
	world_lock(s->world);
	pipe_begin_turn(s->pipe);
	r = programs_drain(s->programs, pipe_record, s->pipe);
	if (r == 0)
		r = sideband_drain(s->sideband, session_event, s);
	if (r == 0)
		r = pipe_settle(s->pipe, is_last);
	world_unlock(s->world);
	session_refill_stack_budget(s);
	publish(s);
	return r;
}

/* Each of them by itself: one that fails does not keep the others from it. */
static int follow_cpus(struct pa_session *s, const struct cpus *online, const struct cpus *silent)
{
	int sideband = s->sideband ? sideband_follow(s->sideband, online, silent) : 0;
	struct cpus chosen;
	int triggers;
	int sched = s->sched ? sched_collector_follow(s->sched, online) : 0;

	session_choose_cpus(s, online, &chosen);
	triggers = triggers_follow(s->triggers, &chosen);
	return sideband < 0 ? sideband : triggers < 0 ? triggers : sched;
}

static void once_a_second(struct loop *l)
{
	uint64_t now = clock_mono_ns();
	struct cpus online, silent;
	int r;

	if (now - l->looked_ns < LOOK_EVERY_NS)
		return;
	l->looked_ns = now;
	triggers_look(l->s->triggers, &silent);
	session_publish_metrics(l->s);
	session_export_metrics(l->s, false);
	session_recheck_targets(l->s);
	r = cpus_read(CPUS_ONLINE_PATH, &online);
	if (r == 0)
		r = follow_cpus(l->s, &online, &silent);
	if (r < 0)
		log_warn(&l->s->log, "collect: a CPU that came online is not sampled: %s",
			 strerror(-r));
}

/* True if all targets are gone, or have taken too long: a target that waits for others during its
 * exit may never be gone. */
static bool are_gone(struct loop *l)
{
	return session_targets_are_gone(l->s) || clock_mono_ns() - l->exited_ns > EXIT_MAX_NS;
}

/* True while the caller is expected to take the exit status of the program that it has started, and to say
 * which signal killed it. */
static bool is_to_be_reaped(struct loop *l)
{
	uint64_t now_ns = clock_mono_ns();

	if (!l->gone_ns)
		l->gone_ns = now_ns;
	return session_command_is_zombie(l->s) && now_ns - l->gone_ns < REAP_MAX_NS;
}

/* Why sampling is over, as in pa_summary; NULL if it is not. */
static const char *why_over(struct loop *l)
{
	struct pa_session *s = l->s;
	uint64_t fired;

	/* Checked first: the caller may stop because the targets have exited. */
	s->targets_exited = settings_has_target_list(&s->settings) &&
			    programs_nr_targets(s->programs) == 0;
	if (!s->targets_exited)
		l->exited_ns = l->gone_ns = 0;
	else if (!l->exited_ns)
		l->exited_ns = clock_mono_ns();
	if (s->targets_exited && (atomic_load(&s->stop) || (are_gone(l) && !is_to_be_reaped(l))))
		return "targets_exited";
	if (atomic_load(&s->stop))
		return session_command_has_exited(s) ? "command_exited" : "stopped";
	if (l->end_fd >= 0 && read(l->end_fd, &fired, sizeof(fired)) == sizeof(fired))
		return "duration";
	return NULL;
}

static bool is_in_a_hurry(const struct pa_session *s)
{
	return s->targets_exited || pipe_is_in_a_hurry(s->pipe);
}

static int run(struct loop *l)
{
	const char *reason;

	while ((reason = why_over(l)) == NULL) {
		struct epoll_event events[8];
		uint64_t fired;
		int timeout_ms = is_in_a_hurry(l->s) ? SOON_MS : -1;
		int r = epoll_wait(l->epoll_fd, events, 8, timeout_ms);

		if (r < 0 && errno != EINTR)
			return -errno;
		/* fails if the timer has not expired */
		(void)!read(l->drain_fd, &fired, sizeof(fired));
		r = session_turn(l->s, false);
		if (r < 0)
			return r;
		once_a_second(l);
	}
	l->s->end_reason = reason; /* later requests to stop have no effect */
	return 0;
}

static void read_program_times(struct pa_session *s)
{
	if (s->program_times_fd < 0)
		return;
	programs_add_times(s->programs, &s->program_times);
	if (s->sched)
		sched_collector_add_times(s->sched, &s->program_times);
	closep(&s->program_times_fd);
	s->program_times_fd = -1;
}

/* No samples are taken after this; the rest is in the rings. */
static int finish_sampling(struct pa_session *s)
{
	int r, sched_r = 0, times_r, summed;

	s->end_ns = clock_mono_ns();
	if (s->sched)
		sched_collector_end(s->sched);
	triggers_disable(s->triggers, s->end_ns);
	s->disabled_ns = clock_mono_ns();
	python_targets_end(s->python); /* which takes its time while symbols are resolved */
	thread_clock_end(&s->thread_clock, s->end_ns);
	if (s->sched)
		sched_collector_stop(s->sched);
	cpu_account_end(&s->cpu, s->programs);
	publish(s);
	world_lock(s->world);
	atomic_store(&s->phase, PA_PHASE_NAMING); /* from now on there is nothing left to stop */
	world_unlock(s->world);
	for (uint32_t i = 0; i < triggers_nr(s->triggers); i++) {
		session_date_model(s, i, s->end_ns);
		session_describe_profile(s, i);
	}
	world_lock(s->world);
	summed = triggers_sums(s->triggers, pipe_sum, s->pipe);
	world_unlock(s->world);
	r = session_turn(s, true);
	atomic_store(&s->is_drained, true);
	if (s->sched)
		sched_r = sched_collector_read(s->sched, &s->sched_report);
	times_r = thread_clock_read(&s->thread_clock, &s->thread_times);
	/* Resolving symbols can take a while, and the machine should not be slowed down
	 * meanwhile. */
	programs_detach(s->programs);
	read_program_times(s);
	s->sideband = sideband_free(s->sideband);
	s->end_cpu_ns = own_cpu_ns();
	s->end_rss_bytes = own_peak_rss_bytes();
	s->end_wakeups = own_wakeups();
	if (r == 0)
		r = summed;
	if (r == 0)
		r = sched_r;
	return r < 0 ? r : times_r;
}

/* Adds the threads without events; late, because sampling need not wait for it. A command that is
 * yet to be executed has no threads. */
static void add_silent_threads(struct pa_session *s)
{
	int r = s->settings.o.start_on_exec ? 0 : thread_clock_add_silent(&s->thread_clock);

	if (r < 0)
		log_warn(&s->log, "threads that never run are not in the time of threads: %s",
			 strerror(-r));
}

static int sample(struct pa_session *s)
{
	struct loop l = { .s = s, .epoll_fd = -1, .drain_fd = -1, .end_fd = -1 };
	int r = loop_init(&l), finished;

	l.looked_ns = clock_mono_ns();
	add_silent_threads(s);
	if (r == 0)
		r = run(&l);
	finished = finish_sampling(s);
	loop_done(&l);
	return r < 0 ? r : finished;
}

static int name_and_write(struct pa_session *s)
{
	uint32_t nr = triggers_nr(s->triggers);
	int r = 0;

	for (uint32_t i = 0; i < nr && r == 0; i++) {
		naming_deadline_share(&s->world->naming_deadline, i + 1, nr);
		r = model_name(s->models[i].now, &s->cancel);
	}
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < triggers_nr(s->triggers); i++)
		session_describe_end(s, i);
	atomic_store(&s->phase, PA_PHASE_WRITING);
	r = session_write_outputs(s);
	if (r == -ECANCELED)
		return r;
	python_targets_join(s->python);
	cpu_account_settle(&s->cpu, s->programs, &s->cancel);
	if (atomic_load(&s->cancel))
		return -ECANCELED;
	/* The summary is created even if an output failed. */
	if (summary_new(s, &s->summary) < 0 && r == 0)
		r = -ENOMEM;
	return r;
}

void *session_thread(void *session)
{
	struct pa_session *s = session;
	uint64_t one = 1;
	int r;

	atomic_store(&s->own_tid, gettid());
	r = sample(s);
	if (r == 0)
		r = name_and_write(s);
	if (r < 0)
		error_set(&s->error, -r, r == -ECANCELED ? "cancelled" : "the capture failed: %s",
			  strerror(-r));
	python_targets_join(s->python);
	publish(s);
	session_publish_metrics(s);
	session_export_metrics(s, true);
	s->result = r;
	atomic_store(&s->own_tid, 0);
	atomic_store(&s->phase, PA_PHASE_DONE);
	(void)!write(s->done_fd, &one, sizeof(one)); /* cannot block: the counter is 0 */
	return NULL;
}
