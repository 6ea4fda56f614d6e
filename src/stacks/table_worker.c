/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/table_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "debugfiles/debug_search.h"

#define LOOK_EVERY_NS (20 * NS_PER_MS) /* how often clocks are checked while waiting for a job */

struct input {
	uint32_t number;
	struct compile_job job;   /* its descriptor is owned; -1: not a file */
	struct debug_query where; /* borrowed from the store, which must outlive the worker */
};

struct table_worker {
	/* Used by the thread that submits and takes. */
	pthread_t thread;
	bool has_thread;
	bool is_inline;
	uint32_t nr_given; /* submitted and not taken */

	int done_fd;                 /* owned; used by any thread */
	const struct cancel *cancel; /* borrowed; NULL: never cancelled; used by any thread */
	atomic_bool is_given_up;     /* the tables are no longer needed */
	struct cancel job_cancel;    /* `cancel` or is_given_up */

	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t changed;
	struct input todo[TABLE_WORKER_MAX_JOBS];
	uint32_t nr_todo;
	struct table_job done[TABLE_WORKER_MAX_JOBS];
	uint32_t nr_done;
	bool is_over;
};

void table_job_done(struct table_job *job)
{
	compiled_file_done(&job->made);
	rule_dict_done(&job->dict);
	*job = (struct table_job){ 0 };
}

static void input_done(struct input *in)
{
	if (in->job.fd >= 0)
		close(in->job.fd);
	in->job.fd = -1;
}

void table_worker_give_up(struct table_worker *w)
{
	atomic_store(&w->is_given_up, true);
}

static void end_thread(struct table_worker *w)
{
	if (!w->has_thread)
		return;
	table_worker_give_up(w);
	pthread_mutex_lock(&w->lock);
	w->is_over = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
}

struct table_worker *table_worker_free(struct table_worker *w)
{
	if (!w)
		return NULL;
	end_thread(w);
	for (uint32_t i = 0; i < w->nr_todo; i++)
		input_done(&w->todo[i]);
	for (uint32_t i = 0; i < w->nr_done; i++)
		table_job_done(&w->done[i]);
	if (w->done_fd >= 0)
		close(w->done_fd);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return NULL;
}

static bool is_cancelled(const void *worker)
{
	const struct table_worker *w = worker;

	return atomic_load_explicit(&w->is_given_up, memory_order_relaxed) ||
	       cancel_is_asked(w->cancel);
}

int table_worker_new(bool is_inline, const struct cancel *cancel, struct table_worker **ret_worker)
{
	struct table_worker *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->is_inline = is_inline;
	w->cancel = cancel;
	w->job_cancel = (struct cancel){ is_cancelled, w };
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	w->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = w->done_fd < 0 ? -errno : 0;
	if (r < 0) {
		table_worker_free(w);
		return r;
	}
	*ret_worker = w;
	return 0;
}

/* A cancelled job may be submitted again. */
static void do_job(const struct table_worker *w, struct input *in, struct table_job *ret_job)
{
	*ret_job = (struct table_job){ .file = in->number };
	ret_job->has_failed = rule_dict_init(&ret_job->dict) < 0 ||
			      compile_job_do(&in->job, in->job.fd >= 0 ? &in->where : NULL,
					     &w->job_cancel, &ret_job->dict, &ret_job->made) < 0 ||
			      ret_job->made.end == WORK_CANCELLED;
	input_done(in);
}

/* There is always room: finished jobs were submitted before. */
static void hand_back(struct table_worker *w, const struct table_job *job)
{
	uint64_t one = 1;

	pthread_mutex_lock(&w->lock);
	w->done[w->nr_done++] = *job;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	/* fails if the counter is full, which is readable, too */
	(void)!write(w->done_fd, &one, sizeof(one));
}

/* Waits for the oldest job; false at the end. */
static bool next_job(struct table_worker *w, struct input *ret_input)
{
	bool is_over;

	pthread_mutex_lock(&w->lock);
	while (!w->is_over && !w->nr_todo)
		pthread_cond_wait(&w->changed, &w->lock);
	is_over = w->is_over;
	if (!is_over) {
		*ret_input = w->todo[0];
		w->nr_todo--;
		memmove(w->todo, w->todo + 1, w->nr_todo * sizeof(w->todo[0]));
	}
	pthread_mutex_unlock(&w->lock);
	return !is_over;
}

static void *worker_thread(void *worker)
{
	struct table_worker *w = worker;
	struct table_job job;
	struct input in;

	while (next_job(w, &in)) {
		do_job(w, &in, &job);
		hand_back(w, &job);
	}
	return NULL;
}

/* Starts the thread with all signals blocked, which the host program handles. */
static void start_thread(struct table_worker *w)
{
	sigset_t all, before;

	if (w->has_thread || w->is_inline)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	w->has_thread = pthread_create(&w->thread, NULL, worker_thread, w) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	w->is_inline = !w->has_thread;
}

static struct compile_job job_of_no_file(uint32_t number)
{
	return (struct compile_job){
		.kind = number == UNWIND_VDSO ? COMPILE_VDSO : COMPILE_TRAMPOLINES,
		.trampoline = UNWIND_VDSO - 1 - number,
		.fd = -1,
		.debug_fd = -1,
	};
}

int table_worker_give(struct table_worker *w, uint32_t file, const struct file *f,
		      const struct debug_query *where)
{
	struct input in = { .number = file, .job = job_of_no_file(file) };
	struct table_job job;

	if (w->nr_given == TABLE_WORKER_MAX_JOBS)
		return -EAGAIN;
	if (f) {
		in.job = compile_job_of_file(f);
		in.where = *where;
		in.job.fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
		if (in.job.fd < 0)
			return -errno;
	}
	w->nr_given++;
	start_thread(w);
	if (w->is_inline) {
		do_job(w, &in, &job);
		hand_back(w, &job);
		return 0;
	}
	pthread_mutex_lock(&w->lock);
	w->todo[w->nr_todo++] = in;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	return 0;
}

bool table_worker_take(struct table_worker *w, struct table_job *ret_job)
{
	uint64_t count;
	bool is_there;

	(void)!read(w->done_fd, &count, sizeof(count)); /* there may be nothing to read */
	pthread_mutex_lock(&w->lock);
	is_there = w->nr_done > 0;
	if (is_there) {
		*ret_job = w->done[0];
		w->nr_done--;
		memmove(w->done, w->done + 1, w->nr_done * sizeof(w->done[0]));
	}
	pthread_mutex_unlock(&w->lock);
	w->nr_given -= is_there;
	return is_there;
}

uint64_t table_worker_cpu_ns(struct table_worker *w)
{
	clockid_t clock;

	if (!w->has_thread || pthread_getcpuclockid(w->thread, &clock) != 0)
		return 0;
	return clock_ns(clock);
}

static struct timespec wait_deadline(void)
{
	uint64_t ns = clock_mono_ns() + LOOK_EVERY_NS;

	return (struct timespec){ (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };
}

bool table_worker_wait(struct table_worker *w, uint64_t max_cpu_ns)
{
	bool is_there;

	if (!w->nr_given)
		return false;
	pthread_mutex_lock(&w->lock);
	while (!w->nr_done && !cancel_is_asked(w->cancel) && table_worker_cpu_ns(w) < max_cpu_ns) {
		struct timespec until = wait_deadline();

		(void)pthread_cond_clockwait(&w->changed, &w->lock, CLOCK_MONOTONIC, &until);
	}
	is_there = w->nr_done > 0;
	pthread_mutex_unlock(&w->lock);
	return is_there;
}

int table_worker_fd(const struct table_worker *w)
{
	return w->done_fd;
}
