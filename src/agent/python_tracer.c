/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/python_tracer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "base/array.h"
#include "base/clock.h"
#include "proc/procfs.h"

#define MAX_STRAGGLERS 1024
#define RELEASE_NS (5 * NS_PER_MS) /* between two attempts */

struct python_tracer {
	/* Its own, so that it may outlive the session: an abandoned reader delays nobody else. */
	struct procfs procfs;
	struct interpreter_cache cache;
	struct tracee **stragglers; /* owned, as are the items; of targets that were settled */
	uint32_t nr_stragglers, cap_stragglers;
	pthread_t thread;

	pthread_mutex_t lock; /* protects what follows, but the thread alone has it during a job */
	pthread_cond_t changed;
	bool has_job, is_done, is_over, is_abandoned;
	enum python_job job;
	struct python_switch target, parent;
	bool answer;
};

/* ---- the thread ---- */

static void release_stragglers(struct python_tracer *t)
{
	for (uint32_t i = 0; i < t->nr_stragglers;) {
		if (tracee_let_go(t->stragglers[i])) {
			free(t->stragglers[i]);
			t->stragglers[i] = t->stragglers[--t->nr_stragglers];
		} else {
			i++;
		}
	}
}

/* Nobody makes another step with a target that is settled. Beyond the limit it stays with the target. */
static void take_straggler(struct python_tracer *t)
{
	if (!t->target.straggler || ARRAY_RESERVE(t->stragglers, t->cap_stragglers,
						  t->nr_stragglers + 1, MAX_STRAGGLERS) < 0)
		return;
	t->stragglers[t->nr_stragglers++] = t->target.straggler;
	t->target.straggler = NULL;
}

static void do_job(struct python_tracer *t)
{
	t->answer = false;
	switch (t->job) {
	case PYTHON_STEP:
		python_switch_step(&t->target, &t->procfs, &t->cache);
		break;
	case PYTHON_GIVE_UP:
		python_switch_give_up(&t->target, &t->procfs);
		break;
	case PYTHON_FORK:
		python_switch_fork(&t->target, &t->procfs, &t->parent);
		break;
	case PYTHON_CLEAN:
		t->answer = python_switch_clean(&t->target, &t->procfs);
		break;
	case PYTHON_RELEASE:
		break;
	}
	if (t->job == PYTHON_RELEASE || t->target.stage == PYTHON_SETTLED)
		take_straggler(t);
}

/* With the lock. */
static void await_job(struct python_tracer *t)
{
	while (!t->has_job && !t->is_over) {
		uint64_t until_ns = clock_mono_ns() + RELEASE_NS;
		struct timespec at = { (time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S) };

		if (t->nr_stragglers)
			pthread_cond_timedwait(&t->changed, &t->lock, &at);
		else
			pthread_cond_wait(&t->changed, &t->lock);
		release_stragglers(t);
	}
}

static void free_all(struct python_tracer *t)
{
	for (uint32_t i = 0; i < t->nr_stragglers; i++)
		free(t->stragglers[i]);
	free(t->stragglers);
	interpreter_cache_done(&t->cache);
	procfs_close(&t->procfs);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* Nobody knows of it any more. What it has switched on would stay on for ever. */
static void end_abandoned(struct python_tracer *t)
{
	python_switch_give_up(&t->target, &t->procfs);
	free(t->target.straggler);
	free_all(t);
}

static void *tracer_thread(void *tracer)
{
	struct python_tracer *t = tracer;
	bool is_abandoned = false;

	pthread_mutex_lock(&t->lock);
	for (await_job(t); t->has_job && !is_abandoned; await_job(t)) {
		pthread_mutex_unlock(&t->lock);
		do_job(t);
		pthread_mutex_lock(&t->lock);
		t->has_job = false;
		t->is_done = true;
		is_abandoned = t->is_abandoned;
		pthread_cond_broadcast(&t->changed);
		if (is_abandoned)
			break;
	}
	pthread_mutex_unlock(&t->lock);
	if (is_abandoned)
		end_abandoned(t);
	return NULL;
}

/* ---- its owner's side ---- */

static int start_thread(struct python_tracer *t)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&t->thread, NULL, tracer_thread, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}

int python_tracer_new(struct python_tracer **ret_tracer)
{
	struct python_tracer *t = calloc(1, sizeof(*t));
	pthread_condattr_t monotonic;
	int r;

	if (!t)
		return -ENOMEM;
	r = procfs_open("/proc", &t->procfs);
	if (r < 0) {
		free(t);
		return r;
	}
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&t->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	r = start_thread(t);
	if (r < 0)
		free_all(t);
	else
		*ret_tracer = t;
	return r;
}

void python_tracer_begin(struct python_tracer *t, enum python_job job,
			 const struct python_switch *s, const struct python_switch *parent)
{
	pthread_mutex_lock(&t->lock);
	t->job = job;
	t->target = *s;
	if (parent)
		t->parent = *parent;
	t->has_job = true;
	t->is_done = false;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

bool python_tracer_await(struct python_tracer *t, uint64_t wait_ns,
			 struct python_switch *ret_switch, bool *ret_answer)
{
	uint64_t until_ns = clock_mono_ns() + wait_ns;
	struct timespec at = { (time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S) };
	bool is_done;

	pthread_mutex_lock(&t->lock);
	while (!t->is_done && pthread_cond_timedwait(&t->changed, &t->lock, &at) == 0)
		;
	is_done = t->is_done;
	if (is_done) {
		*ret_switch = t->target;
		*ret_answer = t->answer;
	}
	pthread_mutex_unlock(&t->lock);
	return is_done;
}

bool python_tracer_knows(const struct python_tracer *t, uint64_t file_key)
{
	return interpreter_cache_has(&t->cache, file_key);
}

void python_tracer_abandon(struct python_tracer *t)
{
	bool is_done;

	pthread_mutex_lock(&t->lock);
	is_done = t->is_done;
	t->is_abandoned = !is_done;
	if (!is_done)
		pthread_detach(t->thread); /* it frees itself, if it ever wakes up */
	pthread_mutex_unlock(&t->lock);
	if (is_done)
		python_tracer_free(t);
}

struct python_tracer *python_tracer_free(struct python_tracer *t)
{
	if (!t)
		return NULL;
	pthread_mutex_lock(&t->lock);
	t->is_over = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	free_all(t);
	return NULL;
}
