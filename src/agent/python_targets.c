/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/python_targets.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "agent/python_work.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "proc/procfs.h"

#define MAX_EVENTS (1u << 16)
#define EVENTS_NS (5 * NS_PER_MS)
#define CROWD_NS (20 * NS_PER_MS)       /* for events, before processes have a turn */
#define STRICT_NEW_NS (300 * NS_PER_MS) /* one that was just executed is mapped by then */

struct python_targets {
	pthread_t thread;
	bool has_thread;

	/* of the thread */
	struct python_work work;
	struct python_event *batch; /* owned; events from batch_at on are yet to be handled */
	uint32_t batch_at, nr_batch, cap_batch;

	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t changed;
	struct python_event *events; /* owned */
	uint32_t nr_events, cap_events;
	bool needs_scan; /* of all processes */
	/* as the thread has published it last */
	uint32_t nr_strict_left;
	pid_t failed_pid;
	enum python_outcome failed_outcome;
	uint64_t counts[PYTHON_NR_OUTCOMES], nr_no_room;
	struct python_off_counts off;
};

_Static_assert(PYTHON_NR_OUTCOMES + 5 <= PYTHON_TARGETS_NR_COUNTS, "room for all counts");

/* ---- the thread ---- */

static void take_batch(struct python_targets *p)
{
	struct python_event *taken;
	uint32_t cap;

	pthread_mutex_lock(&p->lock);
	taken = p->events;
	cap = p->cap_events;
	p->nr_batch = p->nr_events;
	p->events = p->batch;
	p->cap_events = p->cap_batch;
	p->nr_events = 0;
	p->work.needs_scan |= p->needs_scan;
	p->needs_scan = false;
	pthread_mutex_unlock(&p->lock);
	p->batch = taken;
	p->batch_at = 0;
	p->cap_batch = cap;
}

/* Any user can make any number of events, by forks. True if some are left. */
static bool take_events(struct python_targets *p)
{
	uint64_t end_ns = clock_mono_ns() + CROWD_NS;

	if (p->batch_at == p->nr_batch)
		take_batch(p);
	while (p->batch_at < p->nr_batch && clock_mono_ns() < end_ns)
		python_follow_event(&p->work, &p->batch[p->batch_at++]);
	if (p->work.needs_scan)
		python_follow_scan(&p->work);
	return p->batch_at < p->nr_batch;
}

static void publish(struct python_targets *p)
{
	const struct python_work *w = &p->work;

	pthread_mutex_lock(&p->lock);
	python_list_count(&w->list, p->counts);
	p->nr_no_room = w->list.nr_no_room;
	p->nr_strict_left = w->nr_strict_left;
	p->failed_pid = w->failed_pid;
	p->failed_outcome = w->failed_outcome;
	p->off = w->off;
	pthread_mutex_unlock(&p->lock);
}

/* Events come in crowds. False: the end was asked for. */
static bool sleep_until(struct python_targets *p, uint64_t next_ns)
{
	struct timespec at = { (time_t)(next_ns / NS_PER_S), (long)(next_ns % NS_PER_S) };
	bool goes_on, has_events;

	pthread_mutex_lock(&p->lock);
	while (!p->nr_events && !p->needs_scan && !atomic_load(&p->work.is_ending))
		if (next_ns == PYTHON_NEVER)
			pthread_cond_wait(&p->changed, &p->lock);
		else if (pthread_cond_timedwait(&p->changed, &p->lock, &at) != 0)
			break;
	goes_on = !atomic_load(&p->work.is_ending);
	has_events = p->nr_events;
	pthread_mutex_unlock(&p->lock);
	if (goes_on && has_events)
		usleep(EVENTS_NS / 1000);
	return goes_on;
}

static void *python_thread(void *targets)
{
	struct python_targets *p = targets;
	uint64_t next_ns;
	bool has_more;

	do {
		has_more = take_events(p);
		next_ns = python_work_step_all(&p->work);
		publish(p);
	} while (sleep_until(p, has_more ? 0 : next_ns));
	(void)take_events(p); /* children whose forks were not handled are looked for */
	python_off(&p->work);
	publish(p);
	p->work.tracer = tracer_free(p->work.tracer);
	return NULL;
}

/* ---- the session's side ---- */

static int add_strict(struct python_work *w, pid_t pid, bool may_be_gone)
{
	struct python_target *t;

	if (python_list_find(&w->list, pid))
		return 0;
	t = python_work_add(w, pid);
	if (!t)
		return -ENOMEM;
	python_work_begin(t, INJECT_ACTIVATE, clock_mono_ns());
	t->new_until_ns = t->began_ns + STRICT_NEW_NS;
	t->is_strict = true;
	t->may_be_gone = may_be_gone;
	w->nr_strict_left++;
	return 0;
}

/* A command is none yet: it will be when it is executed. */
static int add_named(struct python_work *w)
{
	const struct pa_options *o = &w->cfg.settings->o;
	struct proc_status status;
	int r = 0;

	for (size_t i = 0; i < o->nr_pids && r == 0 && !o->start_on_exec; i++)
		r = add_strict(w, o->pids[i], i >= w->cfg.settings->nr_given_pids);
	for (size_t i = 0; i < o->nr_tids && r == 0; i++)
		if (procfs_status(w->cfg.procfs, o->tids[i], &status) == 0)
			r = add_strict(w, status.tgid, false);
	return r;
}

static int start_thread(struct python_targets *p)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&p->thread, NULL, python_thread, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	p->has_thread = r == 0;
	return -r;
}

int python_targets_new(struct python_targets **ret_targets)
{
	struct python_targets *p = calloc(1, sizeof(*p));
	pthread_condattr_t monotonic;
	int r;

	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&p->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	r = python_work_init(&p->work);
	if (r < 0)
		python_targets_free(p);
	else
		*ret_targets = p;
	return r;
}

int python_targets_begin(struct python_targets *p, const struct python_targets_config *cfg)
{
	int r;

	p->work.cfg = *cfg;
	p->needs_scan = !cfg->settings->o.start_on_exec;
	r = add_named(&p->work);
	p->nr_strict_left = p->work.nr_strict_left;
	return r < 0 ? r : start_thread(p);
}

void python_targets_event(struct python_targets *p, const struct process_event *e)
{
	struct python_event to = {
		.type = e->type, .pid = e->pid, .ppid = e->ppid, .time_ns = e->time_ns
	};

	if (!p || e->type == EVENT_BUILD_ID || e->type == EVENT_KSYMBOL ||
	    (e->type == EVENT_MMAP && !e->inode))
		return;
	to.file_key = interpreter_file_key(e->major, e->minor, e->inode);
	pthread_mutex_lock(&p->lock);
	if (e->type == EVENT_LOST ||
	    ARRAY_RESERVE(p->events, p->cap_events, p->nr_events + 1, MAX_EVENTS) < 0)
		p->needs_scan = true;
	else
		p->events[p->nr_events++] = to;
	if (p->nr_events <= 1)
		pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

int python_targets_ready(struct python_targets *p, struct pa_error *err)
{
	enum python_outcome outcome;
	uint32_t nr_left;
	pid_t failed;

	pthread_mutex_lock(&p->lock);
	failed = p->failed_pid;
	outcome = p->failed_outcome;
	nr_left = p->nr_strict_left;
	pthread_mutex_unlock(&p->lock);
	if (failed)
		return error_set(err, outcome == PYTHON_NO_PERMISSION ? EPERM : EOPNOTSUPP,
				 "pa_options.inject_python: PID %d: %s; %s", (int)failed,
				 python_outcome_text(outcome), python_outcome_fix(outcome));
	return nr_left ? -EAGAIN : 0;
}

void python_targets_end(struct python_targets *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	atomic_store(&p->work.is_ending, true);
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

void python_targets_join(struct python_targets *p)
{
	if (!p || !p->has_thread)
		return;
	python_targets_end(p);
	pthread_join(p->thread, NULL);
	p->has_thread = false;
}

struct python_targets *python_targets_free(struct python_targets *p)
{
	if (!p)
		return NULL;
	python_targets_join(p);
	python_work_done(&p->work);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p->events);
	free(p->batch);
	free(p);
	return NULL;
}

size_t python_targets_counts(struct python_targets *p, struct pa_count *to)
{
	size_t nr = 0;

	if (!p)
		return 0;
	pthread_mutex_lock(&p->lock);
	for (; nr < PYTHON_NR_OUTCOMES; nr++)
		to[nr] = (struct pa_count){ python_outcome_key((enum python_outcome)nr),
					    python_outcome_text((enum python_outcome)nr),
					    p->counts[nr] };
	to[nr++] = (struct pa_count){ "no_room", "more processes than are kept in mind",
				      p->nr_no_room };
	to[nr++] = (struct pa_count){ "switched_off", "switched off again", p->off.nr_off };
	to[nr++] = (struct pa_count){ "off_queued", "off when they next run Python code",
				      p->off.nr_queued };
	to[nr++] = (struct pa_count){ "left_on", "could not be switched off, and stay on",
				      p->off.nr_left };
	to[nr++] = (struct pa_count){ "ended", "ended before they could be switched off",
				      p->off.nr_ended };
	pthread_mutex_unlock(&p->lock);
	return nr;
}
