/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/fetcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "fetch/child.h"
#include "fetch/failures.h"
#include "fetch/fetch_cache.h"
#include "fetch/nobody_dir.h"
#include "fetch/probe.h"

#define POLL_MS 50 /* delay until a cancellation or a released lock is noticed */

struct fetcher {
	struct fetcher_config cfg; /* its strings are owned */
	char **env;                /* owned, one block */
	struct cache cache;
	struct fetch_stats stats;
	struct failures failures;
	unsigned int nr_held;
	unsigned int nr_timeouts; /* consecutive */
	uint64_t vain_ns;         /* time used by requests that gave no file */
	enum fetch_result client; /* of probe_client() */
	bool as_nobody;           /* its processes run as nobody */
};

enum job_state {
	JOB_QUEUED,
	JOB_WAITING, /* another agent is fetching it */
	JOB_RUNNING,
	JOB_DONE,
};

/* A request in progress. */
struct job {
	struct fetch_request *rq; /* borrowed during the call */
	enum job_state state;
	uint64_t deadline_ns;
	uint64_t begin_ns;
	bool is_large;      /* larger than its share: to be fetched alone */
	uint64_t max_bytes; /* of its file */
	struct child child;
	char tmp[CACHE_TMP_NAME_SIZE];
	int tmp_fd; /* owned; -1: none */
};

/* One fetcher_get(). */
struct round {
	struct fetcher *f;
	struct job *jobs; /* owned */
	size_t nr, nr_done, nr_running;
	bool is_large_running;
	uint64_t share_bytes; /* of the bytes in transit, for each running fetch */
	const struct cancel *cancel;
};

const char *fetch_result_text(enum fetch_result r)
{
	static const char *const texts[] = {
#define X(result, machine, people) people,
#include "fetch/fetch_results.def"
#undef X
	};

	return texts[r];
}

const char *fetch_result_name(enum fetch_result r)
{
	static const char *const names[] = {
#define X(result, machine, people) machine,
#include "fetch/fetch_results.def"
#undef X
	};

	return names[r];
}

bool fetch_is_success(enum fetch_result r)
{
	return r == FETCH_FETCHED || r == FETCH_CACHED;
}

static int copy_config(struct fetcher *f, const struct fetcher_config *cfg)
{
	f->cfg = *cfg;
	f->cfg.urls = strdup(cfg->urls);
	f->cfg.program = strdup(cfg->program);
	f->cfg.cache_dir = NULL; /* held open */
	if (!f->cfg.urls || !f->cfg.program)
		return -ENOMEM;
	return child_environment(&f->cfg, &f->env);
}

/* Cached failures apply to these servers and to this size limit. */
static uint64_t asked_with(const struct fetcher_config *cfg)
{
	return hash_mix(hash_bytes(cfg->urls, strlen(cfg->urls)), cfg->cache_max_bytes);
}

/* Decided once, before any server has replied: a client must not be able to cause the next one to
 * run as root. Files of a directory may be readable by us alone. */
static bool wants_nobody(struct fetcher *f)
{
	return geteuid() == 0 && !strstr(f->cfg.urls, "file://") &&
	       nobody_dir_is_possible(&f->cache);
}

int fetcher_new(const struct fetcher_config *cfg, struct fetcher **ret_fetcher,
		struct pa_error *err)
{
	_cleanup_(fetcher_freep) struct fetcher *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->cache.dir_fd = f->cache.lock_fd = -1;
	r = copy_config(f, cfg);
	if (r == 0)
		r = cache_open(&f->cache, cfg->cache_dir, cfg->cache_max_bytes, asked_with(cfg),
			       err);
	if (r < 0)
		return r;
	cache_sweep(&f->cache);
	f->client = probe_client(f->cfg.program, f->env, wants_nobody(f), &f->as_nobody);
	*ret_fetcher = TAKE(f);
	return 0;
}

enum fetch_result fetcher_client(const struct fetcher *f)
{
	return f->client;
}

struct fetcher *fetcher_free(struct fetcher *f)
{
	if (!f)
		return NULL;
	cache_close(&f->cache);
	free((char *)(uintptr_t)f->cfg.urls);
	free((char *)(uintptr_t)f->cfg.program);
	free(f->env);
	free(f);
	return NULL;
}

static void report_progress(const struct round *r)
{
	const struct fetch_progress p = { .nr_wanted = r->nr,
					  .nr_done = r->nr_done,
					  .bytes = r->f->stats.bytes };

	if (r->f->cfg.progress)
		r->f->cfg.progress(r->f->cfg.ctx, &p);
}

/* True if the file has the requested build-id. */
static bool is_it(struct fetcher *f, int fd, const struct build_id *id)
{
	struct build_id found;

	return f->cfg.build_id_of(f->cfg.ctx, fd, &found) == 0 && found.len &&
	       build_id_eq(&found, id);
}

/* Passes an open file to the caller, or closes it if enough are open. */
static void hand_over_file(struct fetcher *f, struct fetch_request *rq, int fd)
{
	if (f->nr_held == FETCH_MAX_HELD) {
		close(fd);
		return;
	}
	f->nr_held++;
	rq->fd = fd;
}

/* Uses the file in the cache, if it is there and valid. */
static bool take_cached(struct fetcher *f, struct fetch_request *rq)
{
	int fd = cache_get(&f->cache, &rq->id);

	if (fd < 0)
		return false;
	if (is_it(f, fd, &rq->id)) {
		hand_over_file(f, rq, fd);
		return true;
	}
	close(fd);
	cache_drop(&f->cache, &rq->id); /* truncated by a full disk or a crash */
	return false;
}

static void log_end(const struct round *r, const struct job *j)
{
	char hex[BUILD_ID_HEX_SIZE];
	double s = (double)(clock_mono_ns() - j->begin_ns) / NS_PER_S;

	build_id_hex(&j->rq->id, hex);
	if (j->rq->result == FETCH_FETCHED)
		log_info(r->f->cfg.log, "debuginfod: '%s': fetched in %.1f s (build-id %s)",
			 j->rq->label, s, hex);
	else
		log_info(r->f->cfg.log, "debuginfod: '%s': %s (build-id %s)", j->rq->label,
			 fetch_result_text(j->rq->result), hex);
}

static void end_job(struct round *r, struct job *j, enum fetch_result result)
{
	j->rq->result = result;
	j->state = JOB_DONE;
	r->nr_done++;
	r->f->stats.results[result]++;
	log_end(r, j);
	report_progress(r);
}

static void remember_result(struct fetcher *f, const struct build_id *id, enum fetch_result result)
{
	if (result == FETCH_NOT_FOUND)
		cache_remember(&f->cache, id, CACHE_MISSING);
	else if (result == FETCH_WRONG_FILE || result == FETCH_TOO_LARGE)
		cache_remember(&f->cache, id, CACHE_BROKEN);
}

static enum fetch_result result_of_copy(int r)
{
	switch (r) {
	case -ENOENT:
		return FETCH_SERVER_FAILED;
	case -EFBIG:
		return FETCH_TOO_LARGE;
	case -ENOSPC:
	case -EDQUOT:
		return FETCH_NO_SPACE;
	default:
		return FETCH_UNAVAILABLE;
	}
}

/* Copies the file to to_fd, a directory that the process never saw. The copy is verified before it
 * gets its name. */
static enum fetch_result take_copy(struct fetcher *f, struct job *j, int to_fd)
{
	_cleanup_(closep) int fd = -1;
	uint64_t nr_bytes = 0;
	int r = nobody_dir_copy_result(j->tmp_fd, f->as_nobody ? CHILD_NOBODY : geteuid(),
				       j->max_bytes, to_fd, &fd, &nr_bytes);

	if (r < 0)
		return result_of_copy(r);
	f->stats.bytes += nr_bytes;
	if (!is_it(f, fd, &j->rq->id))
		return FETCH_WRONG_FILE;
	hand_over_file(f, j->rq, TAKE_FD(fd));
	/* If the cache has no room, the file is used once. */
	r = cache_put(&f->cache, &j->rq->id, to_fd, CHILD_RESULT);
	if (r < 0)
		log_warn(f->cfg.log, "debuginfod: '%s': not kept in the cache: %s", j->rq->label,
			 strerror(-r));
	return FETCH_FETCHED;
}

static enum fetch_result take_result(struct fetcher *f, struct job *j)
{
	char name[CACHE_TMP_NAME_SIZE];
	enum fetch_result result;
	int fd, r = cache_tmp(&f->cache, name, &fd);

	if (r < 0)
		return r == -ENOENT ? FETCH_UNAVAILABLE : result_of_copy(r);
	result = take_copy(f, j, fd);
	close(fd);
	cache_remove_tmp(&f->cache, name);
	return result;
}

/* Counts the servers that failed according to the log in the directory of a failed request. */
static void blame(struct fetcher *f, const struct job *j, enum fetch_result result)
{
	_cleanup_(freep) struct server_replies *a = malloc(sizeof(*a));
	struct fetch_failure one;
	char text[FETCH_REASON_SIZE];

	if (fetch_is_success(result) || !a || debuginfod_log_read(j->tmp_fd, CHILD_LOG, a) < 0)
		return; /* the result is counted anyway */
	for (unsigned int i = 0; i < DEBUGINFOD_LOG_MAX_SERVERS; i++) {
		if (!failure_of(&a->items[i], result, &one))
			continue;
		failures_add(&f->failures, &one);
		log_info(f->cfg.log, "debuginfod: '%s': %s: %s", j->rq->label, one.server,
			 fetch_reason_text(one.reason, one.http_status, text));
	}
}

/* Limits time, because targets choose what is requested, and servers how long they take to
 * refuse. */
static void count_time(struct fetcher *f, const struct job *j, enum fetch_result result)
{
	uint64_t took_ns = clock_mono_ns() - (j->deadline_ns - f->cfg.timeout_ns);

	f->nr_timeouts = result == FETCH_TIMEOUT ? f->nr_timeouts + 1 : 0;
	if (!fetch_is_success(result)) /* a busy machine is not a server's fault */
		f->vain_ns += took_ns < f->cfg.timeout_ns ? took_ns : f->cfg.timeout_ns;
}

static bool is_given_up(const struct fetcher *f)
{
	return f->vain_ns / FETCH_MAX_VAIN_TIMES >= f->cfg.timeout_ns;
}

/* Handles the end of a process. Its report about servers counts unless we killed it for another
 * reason. */
static void settle_job(struct round *r, struct job *j, enum fetch_result result)
{
	bool is_again;

	r->nr_running--;
	r->is_large_running = false;
	if (result == FETCH_FETCHED)
		result = take_result(r->f, j);
	is_again = result == FETCH_TOO_LARGE && j->max_bytes < r->f->cfg.cache_max_bytes;
	if (result != FETCH_INTERRUPTED && !is_again) {
		blame(r->f, j, result);
		count_time(r->f, j, result);
		remember_result(r->f, &j->rq->id, result);
	}
	close(j->tmp_fd);
	j->tmp_fd = -1;
	cache_remove_tmp(&r->f->cache, j->tmp);
	cache_unlock(&r->f->cache, &j->rq->id);
	if (is_again) {
		j->is_large = true;
		j->state = JOB_QUEUED;
	} else {
		end_job(r, j, result);
	}
}

/* Starts the process in a directory that it owns, inside one that nobody else can enter. */
static int start_child(const struct fetcher *f, struct job *j, const char *hex)
{
	struct child_setup setup = { .program = f->cfg.program,
				     .env = f->env,
				     .what = hex,
				     .dir_fd = j->tmp_fd,
				     .max_bytes = j->max_bytes,
				     .as_nobody = f->as_nobody };

	if (f->as_nobody && fchown(j->tmp_fd, CHILD_NOBODY, CHILD_NOBODY) < 0)
		return -errno;
	return child_start(&setup, &j->child);
}

/* Starts a job whose build-id is locked. */
static void run_job(struct round *r, struct job *j)
{
	struct fetcher *f = r->f;
	char hex[BUILD_ID_HEX_SIZE];
	int res = cache_tmp(&f->cache, j->tmp, &j->tmp_fd);

	if (res == 0) {
		build_id_hex(&j->rq->id, hex);
		j->max_bytes = j->is_large ? f->cfg.cache_max_bytes : r->share_bytes;
		res = start_child(f, j, hex);
		if (res < 0) {
			close(j->tmp_fd);
			j->tmp_fd = -1;
			cache_remove_tmp(&f->cache, j->tmp);
		}
	}
	if (res < 0) {
		cache_unlock(&f->cache, &j->rq->id);
		end_job(r, j,
			res == -ENOSPC || res == -EDQUOT ? FETCH_NO_SPACE : FETCH_UNAVAILABLE);
		return;
	}
	log_info(f->cfg.log, "debuginfod: '%s': asking for its debug information", j->rq->label);
	j->state = JOB_RUNNING;
	r->nr_running++;
	r->is_large_running = j->is_large;
}

static void start_job(struct round *r, struct job *j)
{
	struct fetcher *f = r->f;
	int res = cache_lock(&f->cache, &j->rq->id);

	if (j->state == JOB_QUEUED) {
		j->begin_ns = clock_mono_ns();
		j->deadline_ns = j->begin_ns + f->cfg.timeout_ns;
	}
	if (res == -EAGAIN) {
		j->state = JOB_WAITING;
		return;
	}
	/* Another agent may have just fetched it; without locks both of them fetch it. */
	if (take_cached(f, j->rq)) {
		cache_unlock(&f->cache, &j->rq->id);
		end_job(r, j, FETCH_CACHED);
		return;
	}
	j->deadline_ns = clock_mono_ns() + f->cfg.timeout_ns;
	run_job(r, j);
}

/* Answers requests that need no server. */
static void answer_locally(struct round *r, struct job *j)
{
	if (j->rq->id.len < 2)
		end_job(r, j, FETCH_NOT_FOUND);
	else if (take_cached(r->f, j->rq))
		end_job(r, j, FETCH_CACHED);
	else if (cache_is_hopeless(&r->f->cache, &j->rq->id))
		end_job(r, j, FETCH_REMEMBERED);
}

/* A large file takes all of the room. */
static bool has_room(const struct round *r, const struct job *j)
{
	return j->is_large ? r->nr_running == 0 : !r->is_large_running;
}

static void start_jobs(struct round *r)
{
	for (size_t i = 0; i < r->nr && r->nr_running < FETCH_MAX_PARALLEL; i++) {
		struct job *j = &r->jobs[i];

		if ((j->state != JOB_QUEUED && j->state != JOB_WAITING) || !has_room(r, j))
			continue;
		if (r->f->nr_timeouts >= FETCH_MAX_TIMEOUTS)
			end_job(r, j, FETCH_SKIPPED);
		else if (is_given_up(r->f))
			end_job(r, j, FETCH_GIVEN_UP);
		else if (j->state == JOB_WAITING && clock_mono_ns() >= j->deadline_ns)
			end_job(r, j, FETCH_TIMEOUT);
		else
			start_job(r, j);
	}
}

/* Milliseconds until the next timeout or the next poll. */
static int wait_for_jobs(struct round *r)
{
	struct pollfd fds[FETCH_MAX_PARALLEL];
	uint64_t now = clock_mono_ns(), wait_ms = POLL_MS;
	nfds_t nr = 0;

	for (size_t i = 0; i < r->nr && nr < FETCH_MAX_PARALLEL; i++) {
		const struct job *j = &r->jobs[i];
		uint64_t left_ms = j->deadline_ns > now ? (j->deadline_ns - now) / NS_PER_MS + 1
							: 0;

		if (j->state != JOB_RUNNING)
			continue;
		fds[nr++] = (struct pollfd){ .fd = j->child.pidfd, .events = POLLIN };
		if (left_ms < wait_ms)
			wait_ms = left_ms;
	}
	return poll(fds, nr, (int)wait_ms) < 0 && errno != EINTR ? -errno : 0;
}

static void reap_jobs(struct round *r)
{
	for (size_t i = 0; i < r->nr; i++) {
		struct job *j = &r->jobs[i];
		struct pollfd fd = { .fd = j->child.pidfd, .events = POLLIN };

		if (j->state != JOB_RUNNING)
			continue;
		if (poll(&fd, 1, 0) > 0)
			settle_job(r, j, child_finish(&j->child, false));
		else if (clock_mono_ns() >= j->deadline_ns)
			settle_job(r, j, child_finish(&j->child, true));
	}
}

/* Kills running fetches; the rest is not requested. */
static void stop_jobs(struct round *r, enum fetch_result why)
{
	for (size_t i = 0; i < r->nr; i++) {
		struct job *j = &r->jobs[i];

		if (j->state == JOB_RUNNING) {
			(void)child_finish(&j->child, true);
			settle_job(r, j, why);
		} else if (j->state != JOB_DONE) {
			end_job(r, j, why);
		}
	}
}

/* Divides the room among the requests that need a server. */
static void share_out(struct round *r)
{
	size_t nr = r->nr - r->nr_done;

	r->share_bytes = r->f->cfg.cache_max_bytes;
	if (nr)
		r->share_bytes /= nr < FETCH_MAX_PARALLEL ? nr : FETCH_MAX_PARALLEL;
}

static int run_round(struct round *r)
{
	report_progress(r);
	for (size_t i = 0; i < r->nr; i++)
		answer_locally(r, &r->jobs[i]);
	share_out(r);
	while (r->nr_done < r->nr) {
		int res = cancel_is_asked(r->cancel) ? -ECANCELED : 0;

		if (res == 0) {
			start_jobs(r);
			res = r->nr_done < r->nr ? wait_for_jobs(r) : 0;
		}
		if (res < 0) {
			stop_jobs(r, res == -ECANCELED ? FETCH_INTERRUPTED : FETCH_UNAVAILABLE);
			return res;
		}
		reap_jobs(r);
	}
	return 0;
}

int fetcher_get(struct fetcher *f, struct fetch_request *requests, size_t nr,
		const struct cancel *cancel)
{
	struct round r = { .f = f, .nr = nr, .cancel = cancel };
	int res;

	if (nr > FETCH_MAX_REQUESTS)
		return -E2BIG;
	if (!nr)
		return 0;
	r.jobs = calloc(nr + 1, sizeof(*r.jobs));
	if (!r.jobs)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		requests[i].fd = -1;
		r.jobs[i] = (struct job){ .rq = &requests[i],
					  .begin_ns = clock_mono_ns(),
					  .tmp_fd = -1,
					  .child.pidfd = -1 };
	}
	res = run_round(&r);
	free(r.jobs);
	return res;
}

int fetcher_open(struct fetcher *f, const struct build_id *id)
{
	return cache_get(&f->cache, id);
}

struct fetch_stats fetcher_stats(const struct fetcher *f)
{
	struct fetch_stats s = f->stats;

	s.nr_evicted = f->cache.nr_evicted;
	s.failures = f->failures.items;
	s.nr_failures = f->failures.nr;
	return s;
}
