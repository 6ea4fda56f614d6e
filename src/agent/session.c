/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/session.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>

#include "agent/cache_dir.h"
#include "agent/cost.h"
#include "agent/debug_files.h"
#include "agent/fd_budget.h"
#include "agent/summary.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "collect/cpus.h"
#include "collect/features.h"
#include "collect/ksyms.h"
#include "fetch/cache.h"
#include "fetch/server_url.h"
#include "write/text.h"

#define AUTO_NAME_MAX 256
#define RING_MIN_BYTES (256u << 10)
#define RING_MAX_BYTES (64u << 20)
#define RECORD_USUAL_BYTES 1024 /* 119 frames */
#define RING_RESERVE 4          /* drains that may be missed */
#define STACK_BYTES_PER_S (32u << 20)
#define TABLE_MAX_BYTES (256u << 20)

/* /proc must show the PIDs of our own namespace, since that is whose PIDs are used throughout. */
int session_check_proc(struct pa_error *err)
{
	char self[32];
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	if (n < 0)
		return error_set(err, errno,
				 "/proc is not mounted: mount it (mount -t proc proc /proc)");
	self[n] = '\0';
	if (strtol(self, NULL, 10) != getpid())
		return error_set(
			err, EINVAL,
			"/proc belongs to another PID namespace: mount one of this namespace "
			"(mount -t proc proc /proc)");
	return 0;
}

/* What a process calls itself, as part of a file name that others may list and type. What is not clean
 * has become '?', which a shell would expand. */
static void make_file_name(char *name, size_t size)
{
	_cleanup_(buf_done) struct buf clean = BUF_INIT(4 * AUTO_NAME_MAX);

	if (text_append_clean(&clean, name) < 0 || buf_append(&clean, "", 1) < 0)
		name[0] = '\0'; /* works without */
	else
		(void)snprintf(name, size, "%s", clean.data);
	for (char *c = name; *c; c++)
		if (*c == '/' || *c == '?')
			*c = '_';
}

/* The part of an automatic name that says whose profile it is. */
static void target_name(const struct pa_session *s, char *to, size_t size)
{
	const struct pa_options *o = &s->settings.o;
	char comm[PROC_COMM_SIZE] = "";

	to[0] = '\0';
	if (o->auto_name)
		(void)snprintf(to, size, "%s-", o->auto_name);
	else if (!o->all && procfs_comm(&s->capture->procfs, o->pids[0], comm) == 0)
		(void)snprintf(to, size, "%s-", comm);
	else if (!o->all)
		(void)snprintf(to, size, "pid%d-", o->pids[0]);
	make_file_name(to, size);
}

/* <comm>-YYYYMMDDHHMM-on-cpu.pb.gz, in local time. A leading '.' would hide it, a leading '-' make
 * an option of it. */
static void auto_name(const struct pa_session *s, char *to, size_t size)
{
	char name[AUTO_NAME_MAX / 2], when[32] = "";
	time_t now = time(NULL);
	struct tm tm;

	target_name(s, name, sizeof(name));
	if (name[0] == '.' || name[0] == '-')
		name[0] = '_';
	if (localtime_r(&now, &tm))
		(void)strftime(when, sizeof(when), "%Y%m%d%H%M", &tm);
	(void)snprintf(to, size, "%s%s-on-cpu.pb.gz", name, when);
}

/* Somebody who stops a capture does not wait for targets that are slow on purpose. */
static bool wants_short_waits(const void *session)
{
	const struct pa_session *s = session;

	return atomic_load_explicit(&s->hurry, memory_order_relaxed) ||
	       (atomic_load_explicit(&s->stop, memory_order_relaxed) &&
		!atomic_load_explicit(&s->is_drained, memory_order_relaxed));
}

static bool is_cancelled(void *session)
{
	const struct pa_session *s = session;

	return atomic_load_explicit(&s->cancel, memory_order_relaxed);
}

static int add_output(struct pa_session *s, const struct writer *w, const char *path, bool unique,
		      struct pa_error *err)
{
	const struct pa_options *o = &s->settings.o;
	struct outfile_options oo = { .unique = unique,
				      .set_owner = o->set_owner,
				      .uid = o->owner_uid,
				      .gid = o->owner_gid,
				      .is_cancelled = is_cancelled,
				      .cancel_ctx = s };
	struct output *out = &s->outputs[s->nr_outputs];
	int r = outfile_open(path, &oo, &out->file, err);

	if (r < 0)
		return r;
	out->writer = w;
	s->nr_outputs++;
	return 0;
}

static int open_outputs(struct pa_session *s, struct pa_error *err)
{
	const struct pa_options *o = &s->settings.o;
	char name[AUTO_NAME_MAX];
	int r = 0;

	if (!o->no_pprof && o->pprof_path) {
		r = add_output(s, &writer_pprof, o->pprof_path, false, err);
	} else if (!o->no_pprof) {
		auto_name(s, name, sizeof(name));
		r = add_output(s, &writer_pprof, name, true, err);
	}
	if (r == 0 && o->folded_path)
		r = add_output(s, &writer_folded, o->folded_path, false, err);
	return r;
}

static void publish_fetches(void *session, const struct fetch_progress *p)
{
	struct pa_session *s = session;

	pthread_mutex_lock(&s->lock);
	s->progress.nr_fetches_wanted = p->nr_wanted;
	s->progress.nr_fetches_done = p->nr_done;
	s->progress.fetched_bytes = p->bytes;
	pthread_mutex_unlock(&s->lock);
}

/* For tests and for the day the iterator misbehaves. */
static bool is_forced_to_kallsyms(void)
{
	const char *value = secure_getenv("PERFAGENT_FORCE_KERNEL_FALLBACK");

	return value && !strcmp(value, "1");
}

/* Beside the kernel's symbols, unless told otherwise. NULL: there is no such place. */
static int find_debug_dir(const struct pa_session *s, char **ret_path)
{
	const char *told = s->settings.o.symbol_cache_dir;

	if (told)
		*ret_path = strdup(told);
	else if (!s->cache_dir)
		return 0;
	else if (asprintf(ret_path, "%s/debuginfo", s->cache_dir) < 0)
		*ret_path = NULL; /* else it is not defined */
	return *ret_path ? 0 : -ENOMEM;
}

static const char *fetch_program(const struct pa_options *o)
{
	return o->fetch_program ? o->fetch_program : PERFAGENT_PROGRAM;
}

static int new_capture(struct pa_session *s)
{
	const struct pa_options *o = &s->settings.o;
	_cleanup_(freep) char *debug_dir = NULL;
	struct debug_config debug = {
		.urls = o->debuginfod_urls,
		.nr_urls = o->nr_debuginfod_urls,
		.cache_max_bytes = o->symbol_cache_max_bytes,
		.timeout_ns = o->symbol_fetch_timeout_ns,
		.program = fetch_program(o),
		.fail_closed = o->symbol_fail_closed,
		.progress = publish_fetches,
		.progress_ctx = s,
	};
	struct capture_config cfg = {
		.proc_root = "/proc",
		.kallsyms_path = "/proc/kallsyms",
		.open_ksyms = is_forced_to_kallsyms() ? NULL : ksyms_open,
		.notes_path = is_forced_to_kallsyms() ? NULL : "/sys/kernel/notes",
		.cache_dir = s->cache_dir,
		.all = o->all,
		.event = o->event,
		.period_ns = o->event == PA_EVENT_CPU_CLOCK ? NS_PER_S / o->sample_rate_hz : 0,
		.tags = o->tags,
		.nr_tags = o->nr_tags,
		.max_fds = fd_budget_kept_files(o),
		.compile_first = o->unwind == PA_UNWIND_DWARF,
		.table_bytes = o->table_bytes ? o->table_bytes : TABLE_MAX_BYTES,
		.debug = &debug,
		.hurry = &s->hurry,
		.short_waits = &(const struct cancel){ wants_short_waits, s },
	};
	int r = find_debug_dir(s, &debug_dir);

	if (r < 0)
		return r;
	debug.cache_dir = debug_dir;
	return capture_new(&cfg, &s->log, &s->capture);
}

/* A capture whose names must come from servers is not begun where none can come; nor one with a
 * folder that was named by mistake. One that was made for somebody else is only not used. */
static int check_cache(struct pa_session *s, struct pa_error *err)
{
	const struct pa_options *o = &s->settings.o;
	struct debug_stats st = debug_files_stats(s->capture->debug);

	if (!st.problem)
		return 0;
	if (o->symbol_fail_closed || (o->symbol_cache_dir && st.problem_code != EPERM))
		return error_set(err, st.problem_code, "%s%s",
				 o->symbol_cache_dir ? "--symbol-cache-dir: "
						     : "--symbol-fail-closed: ",
				 st.problem);
	log_warn(&s->log, "debuginfod: nothing is fetched: %s", st.problem);
	return 0;
}

/* What would be found out when the capture is over. */
static int check_fetching(struct pa_session *s, struct pa_error *err)
{
	const struct pa_options *o = &s->settings.o;
	enum fetch_result client;
	int r;

	if (!o->nr_debuginfod_urls)
		return 0;
	r = check_cache(s, err);
	client = debug_files_client(s->capture->debug);
	if (r == 0 && client != FETCH_FETCHED) /* what is in the cache can be used even so */
		log_warn(&s->log, "debuginfod: debug files that are not in the cache are %s",
			 fetch_result_text(client));
	return r;
}

static int prepare(struct pa_session *s, const struct pa_options *opts, struct pa_error *err)
{
	int r = session_check_proc(err);

	if (r == 0)
		r = settings_init(&s->settings, opts, err);
	s->log = (struct log){ s->settings.o.log, s->settings.o.log_ctx };
	if (r == 0)
		r = features_check(&s->log, err);
	if (r == 0)
		r = fd_budget_check(err);
	if (r == 0 && cache_dir_default(&s->cache_dir) < 0)
		s->cache_dir = NULL; /* works without */
	if (r == 0)
		r = new_capture(s);
	if (r == 0)
		r = check_fetching(s, err);
	if (r == 0)
		r = open_outputs(s, err);
	if (r == 0) {
		s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		s->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		r = s->wake_fd < 0 || s->done_fd < 0 ? -errno : 0;
	}
	return r;
}

int pa_session_new(const struct pa_options *opts, struct pa_session **ret_session,
		   struct pa_error *err)
{
	struct pa_session *s = calloc(1, sizeof(*s));
	int r;

	if (err)
		*err = (struct pa_error){ 0 };
	if (!s)
		return error_set(err, ENOMEM, "out of memory");
	s->wake_fd = s->done_fd = -1;
	pthread_mutex_init(&s->lock, NULL);
	r = prepare(s, opts, err);
	if (r < 0) {
		pa_session_free(s);
		return error_set(err, -r, "cannot prepare the capture: %s", strerror(-r));
	}
	*ret_session = s;
	return 0;
}

/* For walks that user space finishes, per turn: a named budget, since a copy is up to 128 KiB. */
static int64_t stack_bytes_per_turn(const struct pa_options *o)
{
	if (o->unwind == PA_UNWIND_FP)
		return 0;
	return (int64_t)STACK_BYTES_PER_S * o->drain_interval_ms / 1000;
}

void session_refill_stack_budget(struct pa_session *s)
{
	int64_t left = programs_stack_budget(s->programs);

	programs_add_stack_budget(s->programs,
				  stack_budget_next(&s->stack_budget, left, clock_mono_ns()));
}

static size_t ring_bytes(const struct pa_options *o, unsigned int nr_cpus)
{
	uint64_t want = (uint64_t)o->sample_rate_hz * nr_cpus * RECORD_USUAL_BYTES * RING_RESERVE *
			o->drain_interval_ms / 1000;

	if (o->ring_bytes)
		return o->ring_bytes;
	want += (uint64_t)stack_bytes_per_turn(o) * 2;
	if (want < RING_MIN_BYTES)
		return RING_MIN_BYTES;
	return want > RING_MAX_BYTES ? RING_MAX_BYTES : (size_t)want;
}

static int attach(struct pa_session *s, struct pa_error *err)
{
	const struct pa_options *o = &s->settings.o;
	struct cpus online;
	int r = cpus_read(CPUS_ONLINE_PATH, &online);
	struct programs_config pc = { .all = o->all,
				      .follow_children = !o->no_follow_children,
				      .kernel_stacks = o->kernel_stacks,
				      .use_tables = o->unwind != PA_UNWIND_FP,
				      .table_bytes = s->capture->cfg.table_bytes };

	if (r < 0)
		return error_set(err, -r, "cannot read %s: %s", CPUS_ONLINE_PATH, strerror(-r));
	pc.ring_bytes = ring_bytes(o, cpus_count(&online));
	stack_budget_init(&s->stack_budget, STACK_BYTES_PER_S, stack_bytes_per_turn(o),
			  clock_mono_ns());
	r = programs_load(&pc, &s->log, &s->programs, err);
	if (r == 0)
		session_refill_stack_budget(s);
	if (r == 0 && pc.use_tables)
		r = capture_use_tables(s->capture, programs_tables(s->programs));
	if (r == 0)
		r = sideband_open(&online, &s->log, &s->sideband, err);
	if (r == 0)
		r = session_add_targets(s, err);
	if (r == 0 && atomic_load(&s->cancel))
		return -ECANCELED;
	if (r == 0) /* what happened meanwhile: to look at all of them takes a while */
		r = sideband_drain(s->sideband, capture_event, s->capture);
	if (r == 0)
		capture_compile_first(s->capture);
	if (r == 0)
		r = capture_settle(s->capture, false); /* tells the walker what was found */
	if (r == 0)
		r = events_open(o->event, o->sample_rate_hz, programs_sampler_fd(s->programs),
				&online, &s->events, err);
	return r;
}

static int start_thread(struct pa_session *s)
{
	sigset_t all, before;
	int r;

	/* Signals are the caller's business: none is ever handled on our thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&s->thread, NULL, session_thread, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	s->has_thread = r == 0;
	return -r;
}

static void detach(struct pa_session *s)
{
	s->events = events_free(s->events);
	s->sideband = sideband_free(s->sideband);
	s->programs = programs_free(s->programs);
}

int pa_session_start(struct pa_session *s, struct pa_error *err)
{
	int r;

	if (err)
		*err = (struct pa_error){ 0 };
	if (atomic_load(&s->phase) != PA_PHASE_NEW || s->has_thread)
		return error_set(err, EALREADY, "the session has already been started");
	atomic_store(&s->is_starting, true);
	r = attach(s, err);
	if (r == 0) {
		s->start_real_ns = clock_ns(CLOCK_REALTIME);
		s->start_cpu_ns = cost_cpu_ns();
		s->start_ns = clock_mono_ns();
		r = events_enable(s->events);
	}
	if (r == 0) {
		atomic_store(&s->phase, PA_PHASE_SAMPLING);
		r = start_thread(s);
	}
	atomic_store(&s->is_starting, false);
	if (r < 0) {
		detach(s);
		atomic_store(&s->phase, PA_PHASE_NEW);
		return error_set(err, -r, "cannot start sampling: %s", strerror(-r));
	}
	return 0;
}

int pa_session_event_fd(const struct pa_session *s)
{
	return s->done_fd;
}

static void wake(struct pa_session *s)
{
	uint64_t one = 1;

	(void)!write(s->wake_fd, &one, sizeof(one)); /* full means that it is awake already */
}

int pa_session_request_stop(struct pa_session *s)
{
	if (atomic_load(&s->phase) == PA_PHASE_NEW && !atomic_load(&s->is_starting))
		return -EINVAL;
	atomic_store(&s->stop, true);
	wake(s);
	return 0;
}

int pa_session_hurry(struct pa_session *s)
{
	int phase = atomic_load(&s->phase);

	/* While it starts: what is not known yet is not looked for, and nothing will be sampled. */
	if (phase == PA_PHASE_NEW ? atomic_load(&s->is_starting) : phase != PA_PHASE_SAMPLING)
		atomic_store(&s->hurry, true);
	return pa_session_request_stop(s);
}

int pa_session_cancel(struct pa_session *s)
{
	atomic_store(&s->cancel, true);
	atomic_store(&s->hurry, true);
	return pa_session_request_stop(s);
}

int pa_session_stop(struct pa_session *s, struct pa_error *err)
{
	int r = pa_session_request_stop(s);

	if (err)
		*err = (struct pa_error){ 0 };
	if (r < 0)
		return error_set(err, -r, "the session has not been started");
	if (s->has_thread) {
		pthread_join(s->thread, NULL);
		s->has_thread = false;
	}
	if (err)
		*err = s->error;
	return s->result;
}

void pa_session_free(struct pa_session *s)
{
	if (!s)
		return;
	if (s->has_thread) {
		(void)pa_session_cancel(s); /* cannot fail: it runs */
		pthread_join(s->thread, NULL);
	}
	for (unsigned int i = 0; i < s->nr_outputs; i++)
		outfile_free(s->outputs[i].file);
	summary_free(s->summary);
	capture_free(s->capture); /* its tables lie in maps of the programs */
	detach(s);
	if (s->wake_fd >= 0)
		close(s->wake_fd);
	if (s->done_fd >= 0)
		close(s->done_fd);
	free(s->cache_dir);
	settings_done(&s->settings);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void pa_session_progress(const struct pa_session *s, struct pa_progress *ret_progress)
{
	struct pa_session *unlocked = (struct pa_session *)(uintptr_t)s;
	size_t sz = ret_progress->sz;
	struct pa_progress p;

	pthread_mutex_lock(&unlocked->lock);
	p = s->progress;
	pthread_mutex_unlock(&unlocked->lock);
	p.sz = sz;
	p.phase = (enum pa_phase)atomic_load(&unlocked->phase);
	p.duration_ns = s->settings.o.duration_ns;
	if (p.phase == PA_PHASE_SAMPLING)
		p.elapsed_ns = clock_mono_ns() - s->start_ns;
	p.agent_cpu_ns = cost_cpu_ns();
	memcpy(ret_progress, &p, sz < sizeof(p) ? sz : sizeof(p));
}

const struct pa_summary *pa_session_summary(const struct pa_session *s)
{
	return s->summary ? summary_get(s->summary) : NULL;
}

long pa_max_sample_rate(void)
{
	return features_max_sample_rate();
}

const char *pa_url_mistake(const char *url)
{
	return server_url_mistake(url);
}

bool pa_is_fetch(int argc, char *const argv[])
{
	return argc > 1 && strcmp(argv[1], FETCH_COMMAND) == 0;
}

int pa_fetch_main(int argc, char *const argv[])
{
	return fetch_main(argc, argv);
}

const char *pa_version(void)
{
	return PERFAGENT_VERSION;
}
