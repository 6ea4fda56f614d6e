/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/session.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>

#include "agent/fd_budget.h"
#include "agent/own_usage.h"
#include "agent/process_names.h"
#include "agent/summary.h"
#include "base/cache_dir.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/sized.h"
#include "collect/cpus.h"
#include "collect/features.h"
#include "collect/ksym_iter.h"
#include "debugfiles/debug_files.h"
#include "fetch/fetch_cache.h"
#include "fetch/server_url.h"
#include "proc/cgroup_dir.h"

#define PROGRESS_MIN_BYTES SIZED_UP_TO(struct pa_progress, agent_cpu_ns)
#define RING_MIN_BYTES (256u << 10)
#define RING_MAX_BYTES (64u << 20)
#define RECORD_USUAL_BYTES 1024 /* a sample with 119 frames */
#define RING_RESERVE 4          /* number of late drains that the ring has room for */
#define STACK_BYTES_PER_S (32u << 20)
#define TABLE_MAX_BYTES (256u << 20)

/* /proc must be that of our own PID namespace, because its PIDs are used throughout. */
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

#define WAIT_SLICE_MS 100
#define PYTHON_LOOK_US 2000

/* Once the user has asked to stop, slow targets get short deadlines. */
static bool wants_short_waits(const void *session)
{
	const struct pa_session *s = session;

	return atomic_load_explicit(&s->hurry, memory_order_relaxed) ||
	       (atomic_load_explicit(&s->stop, memory_order_relaxed) &&
		!atomic_load_explicit(&s->is_drained, memory_order_relaxed));
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

/* By default, next to the cached kernel symbols. NULL: there is no such directory. */
static int find_debug_dir(const struct pa_session *s, char **ret_path)
{
	const char *given = s->settings.o.symbol_cache_dir;

	if (given)
		*ret_path = strdup(given);
	else if (!s->cache_dir)
		return 0;
	else if (asprintf(ret_path, "%s/debuginfo", s->cache_dir) < 0)
		*ret_path = NULL; /* asprintf() leaves it undefined if it fails */
	return *ret_path ? 0 : -ENOMEM;
}

static const char *fetch_program(const struct pa_options *o)
{
	return o->fetch_program ? o->fetch_program : PERFAGENT_PROGRAM;
}

/* With off-CPU time every context switch takes a stack. Until tables are ready each stack is
 * copied, which soon costs more than compiling all tables at once. */
static bool compiles_first(const struct pa_options *o)
{
	return o->unwind == PA_UNWIND_DWARF || (o->modes & PA_MODE_OFFCPU);
}

static int new_world(struct pa_session *s)
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
	struct world_config cfg = {
		.proc_root = "/proc",
		.kallsyms_path = "/proc/kallsyms",
		.open_ksyms = o->kallsyms_only ? NULL : ksym_iter_open,
		.notes_path = o->kallsyms_only ? NULL : "/sys/kernel/notes",
		.cache_dir = s->cache_dir,
		.all = !settings_has_target_list(&s->settings),
		.max_fds = fd_budget_kept_files(o),
		.compile_first = compiles_first(o),
		.table_bytes = o->table_bytes ? o->table_bytes : TABLE_MAX_BYTES,
		.debug = &debug,
		.own_pod = { o->pod_name, o->pod_namespace, o->container_name },
		.hurry = &s->hurry,
		.is_interrupted = &s->is_interrupted,
		.is_aborted = &s->cancel,
		.short_waits = &(const struct cancel){ wants_short_waits, s },
	};
	int r = find_debug_dir(s, &debug_dir);

	if (r < 0)
		return r;
	debug.cache_dir = debug_dir;
	return world_new(&cfg, &s->log, &s->world);
}

/* Creates one world and one pipe; each trigger has its own model at the end of the pipe. */
static int new_pipe(struct pa_session *s)
{
	int r = new_world(s);

	if (r == 0)
		r = pipe_new(s->world, &s->pipe);
	if (r == 0)
		r = session_new_process_labels(s);
	return r < 0 ? r : session_new_models(s);
}

/* Fails before the capture if symbols are required but cannot be fetched, or if the given directory
 * is unusable. A default cache of another user is merely ignored. */
static int check_cache(struct pa_session *s, struct pa_error *err)
{
	const struct pa_options *o = &s->settings.o;
	struct debug_stats st = debug_files_stats(s->world->debug);

	if (!st.problem)
		return 0;
	if (o->symbol_fail_closed || (o->symbol_cache_dir && st.problem_code != EPERM))
		return error_set(err, st.problem_code, "%s%s",
				 o->symbol_cache_dir ? "pa_options.symbol_cache_dir: "
						     : "pa_options.symbol_fail_closed: ",
				 st.problem);
	log_warn(&s->log, "debuginfod: nothing is fetched: %s", st.problem);
	return 0;
}

/* Finds problems before the capture that would otherwise only show up after it. */
static int check_fetching(struct pa_session *s, struct pa_error *err)
{
	const struct pa_options *o = &s->settings.o;
	enum fetch_result client;
	int r;

	if (!o->nr_debuginfod_urls)
		return 0;
	r = check_cache(s, err);
	client = debug_files_client(s->world->debug);
	if (r == 0 && client != FETCH_FETCHED) /* files in the cache can still be used */
		log_warn(&s->log, "debuginfod: debug files that are not in the cache are %s",
			 fetch_result_text(client));
	return r;
}

/* Resolves process names and a cgroup path to targets. */
static int find_targets(struct pa_session *s, struct pa_error *err)
{
	const char *cgroup = s->settings.o.cgroup;
	int r = process_names_find(&s->settings, &s->world->procfs, &s->log, err);

	return r < 0 || !cgroup ? r : cgroup_dir_open(cgroup, &s->cgroup_fd, err);
}

static void choose_cpus(struct pa_session *s)
{
	if (!s->settings.o.cpus || cpus_parse(s->settings.o.cpus, &s->chosen_cpus) < 0)
		memset(&s->chosen_cpus, 0xff, sizeof(s->chosen_cpus)); /* all */
}

/* Creates what one capture needs; the options are complete. */
static int prepare_capture(struct pa_session *s, struct pa_error *err)
{
	int r = features_check(&s->log, err);

	if (r == 0)
		r = fd_budget_check(err);
	choose_cpus(s);
	if (r == 0)
		r = triggers_new(s->wanted_triggers, s->nr_wanted_triggers, &s->settings.o, &s->log,
				 &s->triggers, err);
	if (r == 0)
		r = new_pipe(s);
	if (r == 0)
		r = find_targets(s, err);
	if (r == 0)
		session_describe_targets(s);
	if (r == 0)
		r = check_fetching(s, err);
	return r < 0 ? r : session_open_outputs(s, err);
}

static int prepare(struct pa_session *s, const struct pa_options *opts, struct pa_error *err)
{
	int r = session_check_proc(err);

	if (r == 0)
		r = settings_init(&s->settings, opts, err);
	s->log = (struct log){ s->settings.o.log, s->settings.o.log_ctx, s->settings.o.log_debug };
	if (r == 0 && cache_dir_default(&s->cache_dir) < 0)
		s->cache_dir = NULL; /* the cache is optional */
	if (r == 0)
		r = prepare_capture(s, err);
	if (r == 0)
		session_check_label_use(s);
	if (r == 0) {
		s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		s->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		r = s->wake_fd < 0 || s->done_fd < 0 ? -errno : 0;
	}
	return r;
}

static struct pa_session *new_session(const struct session_config *cfg)
{
	struct pa_session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	for (uint32_t i = 0; i < cfg->nr_triggers && i < SESSION_MAX_TRIGGERS; i++)
		s->wanted_triggers[s->nr_wanted_triggers++] = cfg->triggers[i];
	s->wake_fd = s->done_fd = s->cgroup_fd = s->program_times_fd = -1;
	s->has_cgroup_ids = cfg->cgroup_ids;
	s->cpu = (struct cpu_account)CPU_ACCOUNT_NONE;
	s->thread_clock = (struct thread_clock)THREAD_CLOCK_NONE;
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

int session_new(const struct session_config *cfg, const struct pa_options *opts,
		struct pa_session **ret_session, struct pa_error *err)
{
	struct pa_session *s = new_session(cfg);
	int r;

	error_clear(err);
	if (!s)
		return error_set(err, ENOMEM, "out of memory");
	r = prepare(s, opts, err);
	if (r < 0) {
		pa_session_free(s);
		return error_set(err, -r, "cannot prepare the capture: %s", strerror(-r));
	}
	*ret_session = s;
	return 0;
}

int pa_session_new(const struct pa_options *opts, struct pa_session **ret_session,
		   struct pa_error *err)
{
	const struct trigger *triggers[2];
	/* a kernel without cgroups has no such file, nor the helper that gives their IDs */
	struct session_config cfg = { .triggers = triggers,
				      .cgroup_ids = access("/proc/self/cgroup", F_OK) == 0 };
	struct pa_options o;
	int r;

	error_clear(err);
	if (!ret_session)
		return error_set(err, EINVAL, "pa_session_new(): ret_session is NULL");
	if (!opts)
		return error_set(err, EINVAL, "pa_session_new(): opts is NULL");
	r = settings_read(opts, &o, err);
	if (r < 0)
		return r;
	if (!o.modes || (o.modes & PA_MODE_PROFILE))
		triggers[cfg.nr_triggers++] = &trigger_oncpu;
	if (o.modes & PA_MODE_OFFCPU)
		triggers[cfg.nr_triggers++] = &trigger_offcpu;
	return session_new(&cfg, opts, ret_session, err);
}

/* Budget per turn for stacks that are copied to be unwound in user space: a copy is up to 128 KiB.
 */
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

static size_t ring_bytes(const struct pa_options *o, uint64_t records_per_s)
{
	uint64_t want =
		records_per_s * RECORD_USUAL_BYTES * RING_RESERVE * o->drain_interval_ms / 1000;

	if (o->ring_bytes)
		return o->ring_bytes;
	want += (uint64_t)stack_bytes_per_turn(o) * 2;
	if (want < RING_MIN_BYTES)
		return RING_MIN_BYTES;
	return want > RING_MAX_BYTES ? RING_MAX_BYTES : (size_t)want;
}

/* Attaches the sources that samples are resolved with: events about processes and mappings, and the
 * walker's tables. */
static int attach_world(struct pa_session *s, const struct cpus *online, bool use_tables,
			struct pa_error *err)
{
	int r = 0;

	if (!session_takes_samples(s))
		return 0;
	session_refill_stack_budget(s);
	if (use_tables)
		r = world_use_tables(s->world, programs_tables(s->programs));
	return r < 0 ? r : sideband_open(online, &s->log, &s->sideband, err);
}

int session_event(void *ctx, const struct process_event *e)
{
	struct pa_session *s = ctx;

	python_targets_event(s->python, e);
	return pipe_event(s->pipe, e);
}

/* Called when the targets are known. */
static int settle_world(struct pa_session *s)
{
	int r;

	if (!session_takes_samples(s))
		return 0;
	/* handles the events that occurred during the scan, which takes a while */
	r = sideband_drain(s->sideband, session_event, s);
	if (r < 0)
		return r;
	world_compile_first(s->world);
	return pipe_settle(s->pipe, false); /* publishes the results to the walker */
}

static int attach_sched(struct pa_session *s, const struct cpus *online, struct pa_error *err)
{
	const struct sched_collector_config cfg = { .per_process = s->settings.o.per_process,
						    .programs = s->programs,
						    .online = online,
						    .log = &s->log };

	return s->settings.o.modes & PA_MODE_PMU ? sched_collector_new(&cfg, &s->sched, err) : 0;
}

static int attach(struct pa_session *s, struct pa_error *err)
{
	const struct pa_options *o = &s->settings.o;
	struct cpus online, chosen;
	int r = cpus_read(CPUS_ONLINE_PATH, &online);
	struct programs_config pc = { .select = s->settings.select,
				      .uid = o->user,
				      .cgroup_fd = s->cgroup_fd,
				      .follow_children = !o->no_follow_children,
				      .kernel_stacks = o->kernel_stacks,
				      .cgroup_ids = s->has_cgroup_ids,
				      .use_tables = session_takes_samples(s) &&
						    o->unwind != PA_UNWIND_FP,
				      .table_bytes = s->world->cfg.table_bytes };

	if (r < 0)
		return error_set(err, -r, "cannot read %s: %s", CPUS_ONLINE_PATH, strerror(-r));
	pc.use_times = session_times_threads(s);
	session_choose_cpus(s, &online, &chosen);
	if (cpus_count(&chosen) == 0)
		return error_set(err, EINVAL, "pa_options.cpus '%s': none of them is online",
				 o->cpus ? o->cpus : "");
	triggers_configure(s->triggers, &chosen, &pc);
	pc.ring_bytes = ring_bytes(o, pc.records_per_s);
	stack_budget_init(&s->stack_budget, STACK_BYTES_PER_S, stack_bytes_per_turn(o),
			  clock_mono_ns());
	r = programs_load(&pc, &s->log, &s->programs, err);
	if (r == 0)
		r = attach_world(s, &online, pc.use_tables, err);
	if (r == 0)
		r = session_add_targets(s, err);
	if (r == 0 && atomic_load(&s->cancel))
		return -ECANCELED;
	if (r == 0)
		r = settle_world(s);
	if (r == 0)
		r = triggers_attach(s->triggers, s->programs, &chosen, err);
	if (r == 0 && pc.use_times)
		r = thread_clock_attach(&s->thread_clock, s->programs, err);
	return r < 0 ? r : attach_sched(s, &online, err);
}

static int begin_python(struct pa_session *s)
{
	const struct python_targets_config cfg = { .settings = &s->settings,
						   .procfs = &s->world->procfs,
						   .programs = s->programs,
						   .cgroup_fd = s->cgroup_fd,
						   .log = &s->log,
						   .is_interrupted = &s->stop,
						   .is_cancelled = &s->cancel };

	return s->python ? python_targets_begin(s->python, &cfg) : 0;
}

/* Waits until Python is switched on where it must be; meanwhile the events of the new code come in. */
static int await_python(struct pa_session *s, struct pa_error *err)
{
	int r = s->python ? python_targets_ready(s->python, err) : 0;

	while (r == -EAGAIN && !atomic_load(&s->stop)) {
		usleep(PYTHON_LOOK_US);
		r = sideband_drain(s->sideband, session_event, s);
		if (r == 0)
			r = pipe_settle(s->pipe, false);
		if (r == 0)
			r = python_targets_ready(s->python, err);
	}
	if (atomic_load(&s->cancel))
		return -ECANCELED;
	return r == -EAGAIN ? 0 : r; /* the user has ended the capture */
}

/* Begins before the programs are loaded, so that all their runs are measured. Without the privilege the
 * capture does without. */
static void measure_programs(struct pa_session *s)
{
	if (!s->settings.o.program_times)
		return;
	s->program_times_fd = program_times_measure();
	if (s->program_times_fd == -EPERM)
		s->no_program_times = "that needs CAP_SYS_ADMIN";
	else if (s->program_times_fd < 0)
		s->no_program_times = "this kernel does not measure them";
}

static int start_thread(struct pa_session *s)
{
	sigset_t all, before;
	int r;

	/* Signals belong to the caller: our thread handles none. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_mutex_lock(&s->lock);
	r = pthread_create(&s->thread, NULL, session_thread, s);
	s->has_thread = r == 0;
	pthread_mutex_unlock(&s->lock);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}

static void detach(struct pa_session *s)
{
	closep(&s->program_times_fd);
	s->program_times_fd = -1;
	cpu_account_close(&s->cpu);
	thread_clock_detach(&s->thread_clock);
	triggers_detach(s->triggers);
	s->sched = sched_collector_free(s->sched);
	s->sideband = sideband_free(s->sideband);
	s->programs = programs_free(s->programs);
}

/* Frees what belongs to one capture. */
static void drop_capture(struct pa_session *s)
{
	s->python = python_targets_free(s->python); /* it uses the world */
	session_free_outputs(s);
	s->summary = summary_free(s->summary);
	sched_report_done(&s->sched_report);
	thread_times_done(&s->thread_times);
	s->pipe = pipe_free(s->pipe);
	session_free_models(s);
	s->process_labels = process_labels_free(s->process_labels);
	s->world = world_free(s->world); /* its tables are in maps of the programs */
	detach(s);
	s->triggers = triggers_free(s->triggers);
	closep(&s->cgroup_fd);
	s->cgroup_fd = -1;
}

/* Forgets what other threads requested of the last capture. */
static void reset_requests(struct pa_session *s)
{
	uint64_t n;

	(void)!read(s->wake_fd, &n, sizeof(n)); /* fails if nobody woke it up */
	(void)!read(s->done_fd, &n, sizeof(n));
	atomic_store(&s->stop, false);
	atomic_store(&s->hurry, false);
	atomic_store(&s->cancel, false);
	atomic_store(&s->is_interrupted, false);
	for (size_t i = 0; i < sizeof(s->signals) / sizeof(s->signals[0]); i++)
		atomic_store(&s->signals[i], 0);
}

/* Returns to the state after session_new(), except for what another thread may have requested since. */
static void reset_capture(struct pa_session *s)
{
	s->sched_report = (struct sched_report){ 0 };
	s->thread_times = (struct thread_times){ 0 };
	s->thread_clock = (struct thread_clock)THREAD_CLOCK_NONE;
	s->cpu = (struct cpu_account)CPU_ACCOUNT_NONE;
	s->program_times = (struct program_times){ 0 };
	s->no_program_times = NULL;
	s->start_ns = s->end_ns = s->enabled_ns = s->disabled_ns = s->end_cpu_ns = 0;
	s->targets_exited = false;
	s->has_enricher_failed = false;
	s->end_reason = NULL;
	s->result = 0;
	s->error = (struct pa_error){ 0 };
	atomic_store(&s->is_drained, false);
	memset(s->exported_ns, 0, sizeof(s->exported_ns));
	pthread_mutex_lock(&s->lock);
	s->progress = (struct pa_progress){ 0 };
	pa_metrics_free(s->metrics);
	s->metrics = NULL;
	pthread_mutex_unlock(&s->lock);
}

/* Waits for the end of the thread, if nobody has done so. */
static void join_thread(struct pa_session *s)
{
	bool has_thread;

	pthread_mutex_lock(&s->lock);
	has_thread = s->has_thread;
	s->has_thread = false;
	pthread_mutex_unlock(&s->lock);
	if (has_thread)
		pthread_join(s->thread, NULL);
}

/* Prepares another capture with the same options, after the end of the last one. */
static int renew(struct pa_session *s, struct pa_error *err)
{
	uint64_t one = 1;
	int r;

	join_thread(s);
	reset_requests(s);
	drop_capture(s);
	reset_capture(s);
	r = settings_renew(&s->settings, err);
	if (r == 0)
		r = prepare_capture(s, err);
	s->result = r;
	if (r == 0) {
		atomic_store(&s->phase, PA_PHASE_NEW);
		return 0;
	}
	error_set(&s->error, -r, "%s", err && err->text[0] ? err->text : strerror(-r));
	(void)!write(s->done_fd, &one, sizeof(one)); /* it has ended, with this result */
	return r;
}

/* Prepares another capture if there was one. A result that nobody asked for is not thrown away. */
static int prepare_start(struct pa_session *s, struct pa_error *err)
{
	int r;

	if (atomic_load(&s->phase) == PA_PHASE_NEW)
		return 0;
	if (atomic_load(&s->phase) != PA_PHASE_DONE)
		return error_set(err, EALREADY, "the session has already been started");
	if (!atomic_load(&s->is_result_known))
		return error_set(err, EALREADY,
				 "the capture has ended: get its result by pa_session_wait() or "
				 "pa_session_stop() before another start");
	atomic_store(&s->is_starting, true);
	r = renew(s, err);
	if (r < 0)
		atomic_store(&s->is_starting, false);
	return r < 0 ? error_set(err, -r, "cannot prepare the capture: %s", strerror(-r)) : 0;
}

/* Attaches everything and begins to sample. */
static int begin_capture(struct pa_session *s, struct pa_error *err)
{
	int r;

	measure_programs(s);
	r = s->settings.o.inject_python ? python_targets_new(&s->python) : 0;
	if (r == 0)
		r = attach(s, err);
	if (r == 0)
		r = begin_python(s);
	if (r == 0)
		r = await_python(s, err);
	if (r == 0 && s->sched)
		r = sched_collector_attach(s->sched, err);
	if (r < 0)
		return r;
	s->start_real_ns = clock_ns(CLOCK_REALTIME);
	s->start_cpu_ns = own_cpu_ns();
	s->start_wakeups = own_wakeups();
	cpu_account_begin(&s->cpu, s->programs, s->cgroup_fd);
	s->start_ns = clock_mono_ns();
	if (s->sched)
		sched_collector_begin(s->sched);
	thread_clock_begin(&s->thread_clock, s->start_ns);
	r = triggers_enable(s->triggers, s->start_ns);
	s->enabled_ns = clock_mono_ns();
	if (r < 0)
		return r;
	session_add_blocked(s);
	atomic_store(&s->is_result_known, false);
	atomic_store(&s->phase, PA_PHASE_SAMPLING);
	return start_thread(s);
}

int pa_session_start(struct pa_session *s, struct pa_error *err)
{
	int r;

	error_clear(err);
	if (!s)
		return error_set(err, EINVAL, "pa_session_start(): the session is NULL");
	r = prepare_start(s, err);
	if (r < 0)
		return r;
	atomic_store(&s->is_starting, true);
	r = begin_capture(s, err);
	atomic_store(&s->is_starting, false);
	if (r < 0) {
		s->python = python_targets_free(s->python);
		world_drop_tables(s->world); /* the tables are in maps of the programs */
		detach(s);
		reset_requests(s); /* they were for this start */
		atomic_store(&s->phase, PA_PHASE_NEW);
		return error_set(err, -r, "cannot start sampling: %s", strerror(-r));
	}
	return 0;
}

int pa_session_event_fd(const struct pa_session *s)
{
	return s ? s->done_fd : -EINVAL;
}

static void wake(struct pa_session *s)
{
	uint64_t one = 1;

	/* fails only if a wake-up is already pending */
	(void)!write(s->wake_fd, &one, sizeof(one));
}

/* Before the start there is nothing to stop, and nothing is remembered. */
static bool has_begun(struct pa_session *s)
{
	return s && (atomic_load(&s->phase) != PA_PHASE_NEW || atomic_load(&s->is_starting));
}

int pa_session_request_stop(struct pa_session *s)
{
	if (!has_begun(s))
		return -EINVAL;
	atomic_store(&s->stop, true);
	wake(s);
	return 0;
}

int pa_session_note_signal(struct pa_session *s, enum pa_signal_role role, int signal_nr)
{
	int none = 0;

	if (!s || signal_nr <= 0 || signal_nr >= NSIG ||
	    (unsigned int)role > PA_SIGNAL_KILLED_COMMAND)
		return -EINVAL;
	(void)atomic_compare_exchange_strong(&s->signals[role], &none, signal_nr);
	return 0;
}

int pa_session_hurry(struct pa_session *s)
{
	int phase;

	if (!s)
		return -EINVAL;
	phase = atomic_load(&s->phase);
	/* While the session starts, unknown targets are no longer looked for, and nothing will be
	 * sampled. */
	if (phase == PA_PHASE_NEW ? atomic_load(&s->is_starting) : phase != PA_PHASE_SAMPLING)
		atomic_store(&s->hurry, true);
	else if (phase == PA_PHASE_SAMPLING)
		atomic_store(&s->is_interrupted, true);
	return pa_session_request_stop(s);
}

int pa_session_cancel(struct pa_session *s)
{
	if (!has_begun(s))
		return -EINVAL;
	atomic_store(&s->cancel, true);
	atomic_store(&s->hurry, true);
	return pa_session_request_stop(s);
}

/* The result of a capture that has ended. Once it is known, another start may replace it. */
static int result_of(struct pa_session *s, struct pa_error *err)
{
	int r = s->result;

	if (err)
		*err = s->error;
	atomic_store(&s->is_result_known, true);
	return r;
}

/* The time until the end, or until another look at a start that may have failed, which nothing announces. */
static int wait_slice_ms(int timeout_ms, uint64_t end_ns)
{
	uint64_t now_ns = clock_mono_ns();
	uint64_t left_ms = now_ns < end_ns ? (end_ns - now_ns) / NS_PER_MS + 1 : 0;

	return timeout_ms < 0 || left_ms > WAIT_SLICE_MS ? WAIT_SLICE_MS : (int)left_ms;
}

/* A callback that waited for the end of its session would wait for itself. */
static bool is_in_callback(struct pa_session *s)
{
	return atomic_load(&s->own_tid) == gettid();
}

int pa_session_wait(struct pa_session *s, int timeout_ms, struct pa_error *err)
{
	struct pollfd done = { .fd = s ? s->done_fd : -1, .events = POLLIN };
	uint64_t end_ns = clock_mono_ns() + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * NS_PER_MS;

	error_clear(err);
	if (!s)
		return error_set(err, EINVAL, "pa_session_wait(): the session is NULL");
	if (is_in_callback(s))
		return error_set(err, EDEADLK, "a callback cannot wait for its own session");
	do {
		if (!has_begun(s))
			return error_set(err, EINVAL, "the session has not been started");
		/* The phase, not the descriptor, makes what the thread has written visible to this one. */
		if (poll(&done, 1, wait_slice_ms(timeout_ms, end_ns)) > 0 &&
		    atomic_load(&s->phase) == PA_PHASE_DONE)
			return result_of(s, err);
	} while (timeout_ms < 0 || clock_mono_ns() < end_ns);
	return error_set(err, ETIMEDOUT, "the capture has not ended yet");
}

int pa_session_stop(struct pa_session *s, struct pa_error *err)
{
	int r;

	error_clear(err);
	if (!s)
		return error_set(err, EINVAL, "pa_session_stop(): the session is NULL");
	if (is_in_callback(s))
		return error_set(err, EDEADLK, "a callback cannot wait for its own session");
	r = pa_session_request_stop(s);
	if (r < 0)
		return error_set(err, -r, "the session has not been started");
	r = pa_session_wait(s, -1, err);
	join_thread(s);
	return r;
}

void pa_session_free(struct pa_session *s)
{
	if (!s)
		return;
	if (is_in_callback(s)) {
		log_write(&s->log, PA_LOG_ERROR, "a callback cannot free its own session");
		return;
	}
	(void)pa_session_cancel(s); /* fails if nothing was started */
	join_thread(s);
	drop_capture(s);
	closep(&s->wake_fd);
	closep(&s->done_fd);
	free(s->cache_dir);
	settings_done(&s->settings);
	pthread_mutex_destroy(&s->lock);
	pa_metrics_free(s->metrics);
	free(s);
}

int pa_session_progress(const struct pa_session *s, struct pa_progress *ret_progress)
{
	struct pa_session *unlocked = (struct pa_session *)(uintptr_t)s;
	struct pa_progress p;
	size_t sz;

	if (!s || !ret_progress || !sized_is_valid(ret_progress->sz, PROGRESS_MIN_BYTES))
		return -EINVAL;
	sz = ret_progress->sz;
	pthread_mutex_lock(&unlocked->lock);
	p = s->progress;
	pthread_mutex_unlock(&unlocked->lock);
	p.sz = sz;
	p.phase = (enum pa_phase)atomic_load(&unlocked->phase);
	p.duration_ns = s->settings.o.duration_ns;
	p.modes = s->settings.o.modes;
	if (p.phase == PA_PHASE_SAMPLING)
		p.elapsed_ns = clock_mono_ns() - s->start_ns;
	p.agent_cpu_ns = own_cpu_ns();
	memcpy(ret_progress, &p, sz < sizeof(p) ? sz : sizeof(p));
	return 0;
}

const struct pa_summary *pa_session_summary(const struct pa_session *s)
{
	struct pa_session *session = (struct pa_session *)(uintptr_t)s;

	/* before its end, the summary belongs to the session's thread */
	if (!s || atomic_load(&session->phase) != PA_PHASE_DONE || !s->summary)
		return NULL;
	return summary_get(s->summary);
}

long pa_max_sample_rate(void)
{
	return features_max_sample_rate();
}

const char *pa_url_mistake(const char *url)
{
	return url ? server_url_mistake(url) : "it is NULL";
}

const char *pa_version(void)
{
	return PERFAGENT_VERSION;
}
