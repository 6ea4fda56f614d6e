/* SPDX-License-Identifier: Apache-2.0 */
#include "http/self_profile.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"

#define PAUSE_FACTOR 10u
#define PAUSE_MIN_NS NS_PER_S
#define PAUSE_MAX_NS (60 * NS_PER_S)
#define SAMPLE_RATE_HZ 999u /* the agent is busy for a few percent of the time */

enum self_state {
	SELF_IDLE,
	SELF_WANTED,
	SELF_RUNNING,
	SELF_DONE, /* can be taken */
};

struct self_profile {
	pthread_t thread;
	int done_fd; /* owned */

	pthread_mutex_t lock; /* protects the rest */
	pthread_cond_t changed;
	enum self_state state;
	unsigned int seconds;
	bool is_cancelled;
	bool is_over;               /* the thread is to end */
	struct pa_session *session; /* borrowed from the thread while it samples; NULL: none */
	struct buf bytes;           /* the result, owned */
	struct pa_error error;
	int result;
	uint64_t pause_end_ns; /* no other one begins before; CLOCK_MONOTONIC */
};

static ssize_t take_bytes(void *ctx, const void *bytes, size_t n)
{
	int r = buf_append(ctx, bytes, n);

	return r < 0 ? r : (ssize_t)n;
}

/* The session that others may cancel from here on; false: it is cancelled already. */
static bool show_session(struct self_profile *p, struct pa_session *s)
{
	bool is_wanted;

	pthread_mutex_lock(&p->lock);
	p->session = s;
	is_wanted = !p->is_cancelled;
	pthread_mutex_unlock(&p->lock);
	return is_wanted;
}

static int run_session(struct self_profile *p, struct pa_session *s, struct pa_error *err)
{
	/* shown once it has started, because starting forgets an earlier request to cancel */
	int r = pa_session_start(s, err);

	if (r < 0)
		return r;
	if (!show_session(p, s))
		(void)pa_session_cancel(s);
	r = pa_session_wait(s, -1, err);
	(void)show_session(p, NULL);
	return r;
}

static unsigned int sample_rate_hz(void)
{
	long max_hz = pa_max_sample_rate();

	return max_hz > 0 && max_hz < (long)SAMPLE_RATE_HZ ? (unsigned int)max_hz : SAMPLE_RATE_HZ;
}

static int take_profile(struct self_profile *p, unsigned int seconds, struct buf *to,
			struct pa_error *err)
{
	const pid_t self = getpid();
	const struct pa_output output = {
		.sz = sizeof(output), .format = "pprof", .write = take_bytes, .write_ctx = to
	};
	const struct pa_options opts = {
		.sz = sizeof(opts),
		.pids = &self,
		.nr_pids = 1,
		/* a command that is profiled is a child as well */
		.no_follow_children = true,
		.sample_rate_hz = sample_rate_hz(),
		.duration_ns = seconds * NS_PER_S,
		.outputs = &output,
		.nr_outputs = 1,
		.target_text = "perf-agent itself",
		.max_functions = 1, /* nobody reads the summary */
	};
	struct pa_session *s = NULL;
	int r = pa_session_new(&opts, &s, err);

	if (r == 0)
		r = run_session(p, s, err);
	pa_session_free(s);
	return r;
}

/* A short one costs about as much as a long one: what it takes to begin and to end. */
static uint64_t pause_end_ns(uint64_t began_ns, uint64_t cpu_ns)
{
	uint64_t now_ns = clock_mono_ns(), end_ns = began_ns + PAUSE_FACTOR * cpu_ns;

	if (end_ns < now_ns + PAUSE_MIN_NS)
		return now_ns + PAUSE_MIN_NS;
	return end_ns < now_ns + PAUSE_MAX_NS ? end_ns : now_ns + PAUSE_MAX_NS;
}

/* With the lock held, which is released meanwhile. */
static void serve_request(struct self_profile *p)
{
	struct buf bytes = BUF_INIT(SELF_PROFILE_MAX_BYTES);
	struct pa_error err = { 0 };
	unsigned int seconds = p->seconds;
	uint64_t one = 1, began_ns = clock_mono_ns();
	uint64_t began_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	int r;

	p->state = SELF_RUNNING;
	pthread_mutex_unlock(&p->lock);
	r = take_profile(p, seconds, &bytes, &err);
	pthread_mutex_lock(&p->lock);
	p->pause_end_ns = pause_end_ns(began_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began_cpu_ns);
	if (p->is_cancelled) {
		buf_done(&bytes);
		p->state = SELF_IDLE;
		return;
	}
	p->bytes = bytes;
	p->error = err;
	p->result = r;
	p->state = SELF_DONE;
	(void)!write(p->done_fd, &one, sizeof(one)); /* cannot block: one at a time */
}

static void *self_thread(void *arg)
{
	struct self_profile *p = arg;

	pthread_mutex_lock(&p->lock);
	while (!p->is_over) {
		if (p->state == SELF_WANTED)
			serve_request(p);
		else
			pthread_cond_wait(&p->changed, &p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int self_profile_new(struct self_profile **ret_profile)
{
	struct self_profile *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	p->changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	p->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = p->done_fd < 0 ? errno : pthread_create(&p->thread, NULL, self_thread, p);
	if (r != 0) {
		if (p->done_fd >= 0)
			close(p->done_fd);
		free(p);
		return -r;
	}
	*ret_profile = p;
	return 0;
}

int self_profile_fd(const struct self_profile *p)
{
	return p->done_fd;
}

int self_profile_start(struct self_profile *p, unsigned int seconds)
{
	int r = -EBUSY;

	pthread_mutex_lock(&p->lock);
	if (p->state == SELF_IDLE && clock_mono_ns() < p->pause_end_ns) {
		r = -EAGAIN;
	} else if (p->state == SELF_IDLE) {
		p->state = SELF_WANTED;
		p->seconds = seconds;
		p->is_cancelled = false;
		pthread_cond_signal(&p->changed);
		r = 0;
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}

unsigned int self_profile_pause_s(struct self_profile *p)
{
	uint64_t now_ns = clock_mono_ns(), end_ns;

	pthread_mutex_lock(&p->lock);
	end_ns = p->pause_end_ns;
	pthread_mutex_unlock(&p->lock);
	return end_ns > now_ns ? (unsigned int)((end_ns - now_ns - 1) / NS_PER_S) + 1 : 0;
}

/* With the lock held. */
static void drop_result(struct self_profile *p)
{
	uint64_t nr;

	if (p->state == SELF_DONE) {
		buf_done(&p->bytes);
		(void)!read(p->done_fd, &nr, sizeof(nr)); /* fails only if it is empty */
		p->state = SELF_IDLE;
	}
}

void self_profile_cancel(struct self_profile *p)
{
	pthread_mutex_lock(&p->lock);
	p->is_cancelled = true;
	if (p->session)
		(void)pa_session_cancel(p->session);
	if (p->state == SELF_WANTED)
		p->state = SELF_IDLE;
	drop_result(p);
	pthread_mutex_unlock(&p->lock);
}

int self_profile_take(struct self_profile *p, struct buf *ret_bytes, struct pa_error *err)
{
	int r = -EAGAIN;

	pthread_mutex_lock(&p->lock);
	if (p->state == SELF_DONE) {
		r = p->result;
		*err = p->error;
		if (r == 0) {
			*ret_bytes = p->bytes;
			p->bytes = BUF_INIT(0);
		}
		drop_result(p);
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}

void self_profile_free(struct self_profile *p)
{
	if (!p)
		return;
	self_profile_cancel(p);
	pthread_mutex_lock(&p->lock);
	p->is_over = true;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	close(p->done_fd);
	free(p);
}
