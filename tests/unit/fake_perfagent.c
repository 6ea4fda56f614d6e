/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libperfagent that profiles nothing: the test double under perf-agent-fake. It keeps the
 * promises of the public header (phases, the event descriptor, lifecycle, output files) and does
 * what the environment says:
 *
 *   FAKE_NEW_ERROR, FAKE_START_ERROR, FAKE_STOP_ERROR   that call fails with this sentence
 *   FAKE_OPTIONS=PATH       the options that pa_session_new() was given, as text
 *   FAKE_DURATION_MS=N      a timed capture takes this long instead (default 20)
 *   FAKE_WRITING_MS=N       how long naming and writing take
 *   FAKE_LOST=N, FAKE_SIDEBAND_LOST=N                   losses
 *   FAKE_REFUSED=N          files without names because of --symbol-fail-closed
 *   FAKE_IDLE=1             no samples at all
 *   FAKE_HOSTILE=1          names full of control characters and broken UTF-8
 *   FAKE_LOG=1              one message of each level
 *   FAKE_SUMMARY=PATH       the summary is the one that --json wrote there
 *   FAKE_MAX_RATE=HZ        what the kernel allows (default 100000); 0: not known
 *   FAKE_DOCTOR_FAILED=1    two checks fail
 *   FAKE_DOCTOR_ALL_OK=1    no check is limited
 */
#include <errno.h>
#include <fcntl.h>
#include <perfagent/perfagent.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "fetch/fetch_main.h"
#include "fetch/server_url.h"
#include "item_sizes.h"
#include "summary_reader.h"

#define NS_PER_MS 1000000ull
#define MAX_OUTPUTS 8
#define PATH_SIZE 256

struct pa_session {
	struct pa_options opts;
	struct {
		char format[16], path[PATH_SIZE];
	} wanted[MAX_OUTPUTS];
	int stop_fd;   /* an eventfd: end the capture */
	int cancel_fd; /* an eventfd: end everything */
	int done_fd;   /* an eventfd: ended */
	int target_fd; /* a pidfd of the first target; -1: none */
	pthread_t thread;
	bool has_thread;
	atomic_int phase;
	atomic_bool is_cancelled;
	bool has_target_ended;
	struct pa_output_stat outputs[MAX_OUTPUTS];
	struct pa_section ticks;
	struct pa_summary summary;
	struct summary_reader recorded;
	bool has_summary;
};

static unsigned long env_number(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : otherwise;
}

/* Fails with the sentence of variable name, if there is one. */
static int env_error(const char *name, int code, struct pa_error *err)
{
	const char *text = getenv(name);

	if (!text)
		return 0;
	if (err) {
		err->code = code;
		(void)snprintf(err->text, sizeof(err->text), "%s", text);
	}
	return -code;
}

static const char *or_null(const char *text)
{
	return text ? text : "(null)";
}

static void dump_options(const struct pa_options *o)
{
	const char *path = getenv("FAKE_OPTIONS");
	FILE *f = path ? fopen(path, "we") : NULL;

	if (!f)
		return;
	for (size_t i = 0; i < o->nr_pids; i++)
		(void)fprintf(f, "pid=%d\n", (int)o->pids[i]);
	for (size_t i = 0; i < o->nr_process_names; i++)
		(void)fprintf(f, "name=%s\n", o->process_names[i]);
	for (size_t i = 0; i < o->nr_tids; i++)
		(void)fprintf(f, "tid=%d\n", (int)o->tids[i]);
	(void)fprintf(f, "select_user=%d\nuser=%u\ncgroup=%s\n", o->select_user,
		      (unsigned int)o->user, or_null(o->cgroup));
	(void)fprintf(f, "all=%d\nno_follow_children=%d\nstart_on_exec=%d\nevent=%d\nunwind=%d\n",
		      o->all, o->no_follow_children, o->start_on_exec, (int)o->event,
		      (int)o->unwind);
	(void)fprintf(f, "sample_rate_hz=%u\nkernel_stacks=%d\nduration_ns=%llu\n",
		      o->sample_rate_hz, o->kernel_stacks, (unsigned long long)o->duration_ns);
	for (size_t i = 0; i < o->nr_outputs; i++)
		(void)fprintf(f, "output=%s:%s\n", o->outputs[i].format,
			      o->outputs[i].path ? o->outputs[i].path : "(null)");
	(void)fprintf(f, "nr_outputs=%zu\nauto_name=%s\n", o->nr_outputs, or_null(o->auto_name));
	for (size_t i = 0; i < o->nr_tags; i++)
		(void)fprintf(f, "tag=%s\n", o->tags[i]);
	for (size_t i = 0; i < o->nr_debuginfod_urls; i++)
		(void)fprintf(f, "url=%s\n", o->debuginfod_urls[i]);
	(void)fprintf(f, "cache_dir=%s\ncache_max=%llu\nfetch_timeout_ns=%llu\nfail_closed=%d\n",
		      or_null(o->symbol_cache_dir), (unsigned long long)o->symbol_cache_max_bytes,
		      (unsigned long long)o->symbol_fetch_timeout_ns, o->symbol_fail_closed);
	(void)fprintf(f, "modes=%u\nper_process=%d\n", o->modes, o->per_process);
	(void)fprintf(f, "kallsyms_only=%d\nmax_functions=%u\n", o->kallsyms_only,
		      o->max_functions);
	(void)fprintf(f, "pod=%s/%s/%s\n", or_null(o->pod_namespace), or_null(o->pod_name),
		      or_null(o->container_name));
	(void)fprintf(f, "set_owner=%d\nowner=%d:%d\n", o->set_owner, (int)o->owner_uid,
		      (int)o->owner_gid);
	(void)fclose(f);
}

static void copy_outputs(struct pa_session *s)
{
	for (size_t i = 0; i < s->opts.nr_outputs && i < MAX_OUTPUTS; i++) {
		const struct pa_output *o = &s->opts.outputs[i];

		(void)snprintf(s->wanted[i].format, sizeof(s->wanted[i].format), "%s", o->format);
		if (o->path)
			(void)snprintf(s->wanted[i].path, PATH_SIZE, "%s", o->path);
		else
			(void)snprintf(s->wanted[i].path, PATH_SIZE, "%s-on-cpu.pb.gz",
				       s->opts.auto_name ? s->opts.auto_name : "target");
	}
}

int pa_session_new(const struct pa_options *opts, struct pa_session **ret_session,
		   struct pa_error *err)
{
	struct pa_session *s;
	int r = env_error("FAKE_NEW_ERROR", EPERM, err);

	dump_options(opts);
	if (r < 0)
		return r;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->opts = *opts;
	copy_outputs(s);
	s->stop_fd = eventfd(0, EFD_CLOEXEC);
	s->cancel_fd = eventfd(0, EFD_CLOEXEC);
	s->done_fd = eventfd(0, EFD_CLOEXEC);
	s->target_fd = opts->nr_pids ? (int)syscall(SYS_pidfd_open, opts->pids[0], 0) : -1;
	*ret_session = s;
	return 0;
}

static void log_all_levels(const struct pa_session *s)
{
	static const char *const texts[] = { "an error", "a warning", "an info", "a debug" };

	if (!getenv("FAKE_LOG"))
		return;
	for (int level = PA_LOG_ERROR; level <= PA_LOG_DEBUG; level++)
		s->opts.log(s->opts.log_ctx, (enum pa_log_level)level, texts[level]);
}

static void write_output(struct pa_session *s, const char *kind, const char *path)
{
	static const char bytes[] = "a profile\n";
	int fd = !strcmp(path, "-") ? dup(STDOUT_FILENO)
				    : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (!*path || fd < 0)
		return;
	(void)!write(fd, bytes, sizeof(bytes) - 1);
	close(fd);
	s->outputs[s->summary.nr_outputs++] =
		(struct pa_output_stat){ kind, path, sizeof(bytes) - 1 };
}

static const struct pa_function_stat functions[] = {
	{ "compute", "/usr/bin/app", 600, 900, false },
	{ "std::vector<std::pair<std::basic_string<char>, unsigned long> >::_M_realloc_insert(int)",
	  "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", 200, 250, false },
	{ "do_syscall_64", "[kernel]", 100, 150, false },
	{ "main", "/usr/bin/app", 0, 1000, false },
};

static const struct pa_function_stat hostile_functions[] = {
	{ "\x1b[31mred\nline\rback\tTab\x7f\xff\xfe\xe2\x80\xaereversed", "/tmp/\x1b]0;title\x07",
	  600, 900, false },
};

static const struct pa_command_stat commands[] = { { "app", 1000, 100, 1 } };

static const struct pa_process_stat processes[] = { { 4711, "app", 1000, 100 } };

static const struct pa_path_stat paths[] = {
	{ .name = "main", .file = "/usr/bin/app", .nr_samples = 1000, .nr_self = 1000 },
};

static const struct pa_unanswered_stat unanswered[] = { { 4711, "maps" } };

static const struct pa_fetch_failure fetch_failures[] = {
	{ "debug.example:80", "http", "HTTP 500", 2 },
};

static const struct pa_limit_stat limits[] = {
	{ "/opt/hostile", "names", "it costs more to read than the limits allow" },
};

static const struct pa_wait_stat waits[] = {
	{ "fake_wait < main", "sleep", "read", 3, 1500000000, 1000000000 },
};

static const struct pa_thread_stat threads[] = {
	{ 0, 0, 3000000000, 1000000000, 400000000, 1500000000, 100000000, 2 },
	{ 7, 8, 3000000000, 1000000000, 400000000, 1500000000, 100000000, 2 },
	{ 0, 0, 0, 0, 0, 0, 0, 0 }, /* all others */
};

static const struct pa_hint hints[] = {
	{ "node", "no_symbols", "node (PID 7): no symbols for its JIT code; start it otherwise",
	  100, 1 },
};

static const struct pa_pmu_stat pmu[] = {
	{ .nr_switches = 3, .nr_preempted = 1, .nr_voluntary = 2 }
};

static const struct pa_unnamed_stat unnamed[] = {
	{ "/opt/app/libstripped.so", 100, "it has no symbol table", "install its debug package" },
};

static void fill_counts(struct pa_session *s)
{
	static struct pa_count losses[] = {
		{ "not_delivered", "not delivered by the kernel", 0 },
		{ "ring_full", "the sample ring was full", 0 },
	};
	static const struct pa_count stops[] = {
		{ "complete", "reached the outermost frame", 930 },
		{ "too_deep", "deeper than the walker goes", 20 },
		{ "unreadable_stack", "the user stack could not be read", 50 },
	};
	static const struct pa_truncation_stat truncations[] = {
		{ "unreadable_stack", "the user stack could not be read", "/usr/bin/app", 50,
		  NULL },
		{ "too_deep", "deeper than the walker goes", "/usr/bin/app", 20, NULL },
	};
	static const struct pa_count counts[] = {
		{ "idle", "idle", 6000 },
		{ "other", "other", 1000 },
		{ "outside", "outside", 0 },
	};
	struct pa_summary *m = &s->summary;

	losses[0].count = env_number("FAKE_LOST", 0);
	m->sideband_lost = env_number("FAKE_SIDEBAND_LOST", 0);
	m->nr_unnamed_by_rule = env_number("FAKE_REFUSED", 0);
	m->stops = stops;
	m->nr_stops = getenv("FAKE_IDLE") ? 0 : 3;
	m->truncations = truncations;
	m->nr_truncations = getenv("FAKE_IDLE") ? 0 : 2;
	m->samples = getenv("FAKE_IDLE") ? 0 : 1000;
	s->ticks = (struct pa_section){ .name = "on-cpu",
					.unit = "tick",
					.units = "ticks",
					.due = 7000 + m->samples + losses[0].count,
					.counts = counts,
					.nr_counts = 3,
					.samples = m->samples,
					.losses = losses,
					.nr_losses = 2,
					.lost = losses[0].count };
	m->sections = &s->ticks;
	m->nr_sections = 1;
}

static void fill_names(struct pa_session *s)
{
	bool is_hostile = getenv("FAKE_HOSTILE");
	struct pa_summary *m = &s->summary;

	if (!m->samples)
		return;
	m->nr_stacks = 120;
	m->nr_processes = 1;
	m->stacks_complete = 930;
	m->nr_locations = 400;
	m->nr_locations_named = 380;
	m->functions = is_hostile ? hostile_functions : functions;
	m->nr_functions = is_hostile ? 1 : sizeof(functions) / sizeof(functions[0]);
	m->functions_by_total = functions;
	m->nr_functions_by_total = is_hostile ? 0 : sizeof(functions) / sizeof(functions[0]);
	m->commands = commands;
	m->nr_commands = m->commands_seen = 1;
	m->processes = processes;
	m->nr_processes_listed = m->processes_seen = 1;
	m->processes_unlisted = processes;
	m->nr_processes_unlisted = 1;
	m->processes_samples = m->samples;
	m->paths = paths;
	m->nr_paths = 1;
	m->unnamed = unnamed;
	m->nr_unnamed = 1;
	m->waits = waits;
	m->nr_waits = m->waits_seen = 1;
	m->off_cpu_ns = waits[0].total_ns;
	m->off_cpu_intervals = waits[0].nr_intervals;
	m->threads = threads;
	m->nr_threads = 2;
	m->threads_unlisted = &threads[2];
	m->nr_threads_unlisted = 1;
	m->threads_seen = 1;
	m->hints = hints;
	m->nr_hints = 1;
	m->pmu = pmu;
	m->nr_pmu = 1;
	m->limits = limits;
	m->nr_limits = m->limits_seen = 1;
	m->fetch_failures = fetch_failures;
	m->nr_fetch_failures = 1;
	m->unanswered = unanswered;
	m->nr_unanswered = m->unanswered_seen = 1;
}

static const struct pa_program_stat program = { "pa_oncpu", 198, 600000 };

static void fill_summary(struct pa_session *s)
{
	s->summary = (struct pa_summary){
		.sz = sizeof(s->summary),
		ITEM_SIZES,
		.version = pa_version(),
		.event = s->opts.event == PA_EVENT_CYCLES ? "cycles" : "cpu-clock",
		.period = 10101010,
		.sample_rate_hz = s->opts.sample_rate_hz,
		.start_time_ns = 1700000000000000000ull,
		.duration_ns = 10000 * NS_PER_MS,
		.nr_cpus = 8,
		.kernel_symbols = "/proc/kallsyms",
		.outputs = s->outputs,
		.agent_cpu_ns = 123 * NS_PER_MS,
		.programs = &program,
		.nr_programs = 1,
		.programs_ns = program.run_ns,
		.agent_wakeups = 40,
		.agent_sampling_wakeups = 30,
		.agent_sampling_cpu_ns = 45 * NS_PER_MS,
		.agent_sampling_rss_bytes = 30 << 20,
		.agent_peak_rss_bytes = 35 << 20,
		.targets_exited = s->has_target_ended,
		.target_text = s->opts.target_text ? s->opts.target_text : "a target",
		.end_reason = s->has_target_ended ? "targets_exited" : "duration",
		.host = "fake-host",
		.kernel_release = "6.18.0",
		.machine = "x86_64",
		.unwind = "auto",
		.all = s->opts.all,
		.kernel_stacks = s->opts.kernel_stacks,
		.duration_asked_ns = s->opts.duration_ns,
	};
	fill_counts(s);
	fill_names(s);
}

/* True if waiting was cancelled. */
static bool wait_cancelled(struct pa_session *s, unsigned long ms)
{
	struct pollfd fd = { .fd = s->cancel_fd, .events = POLLIN };

	return poll(&fd, 1, (int)ms) > 0;
}

static void sample(struct pa_session *s)
{
	struct pollfd fds[] = {
		{ .fd = s->stop_fd, .events = POLLIN },
		{ .fd = s->cancel_fd, .events = POLLIN },
		{ .fd = s->target_fd, .events = POLLIN },
	};
	int ms = s->opts.duration_ns ? (int)env_number("FAKE_DURATION_MS", 20) : -1;

	(void)poll(fds, 3, ms);
	s->has_target_ended = fds[2].revents != 0;
}

/* Instead of the made-up summary, one of a real capture. */
static void replay_summary(struct pa_session *s)
{
	const char *path = getenv("FAKE_SUMMARY");

	if (path && summary_reader_init(&s->recorded, path))
		s->summary = s->recorded.summary;
}

static void *session_thread(void *arg)
{
	struct pa_session *s = arg;

	log_all_levels(s);
	sample(s);
	s->phase = PA_PHASE_NAMING;
	s->is_cancelled = wait_cancelled(s, env_number("FAKE_WRITING_MS", 0));
	if (!s->is_cancelled) {
		s->phase = PA_PHASE_WRITING;
		fill_summary(s);
		for (size_t i = getenv("FAKE_STOP_ERROR") ? 1 : 0; i < s->opts.nr_outputs; i++)
			write_output(s, s->wanted[i].format, s->wanted[i].path);
		replay_summary(s);
		s->has_summary = true;
	}
	s->phase = PA_PHASE_DONE;
	(void)eventfd_write(s->done_fd, 1);
	return NULL;
}

int pa_session_start(struct pa_session *s, struct pa_error *err)
{
	int r = env_error("FAKE_START_ERROR", ENOTSUP, err);

	if (r < 0)
		return r;
	if (s->has_thread)
		return -EALREADY;
	s->phase = PA_PHASE_SAMPLING;
	if (pthread_create(&s->thread, NULL, session_thread, s) != 0)
		return -EAGAIN;
	s->has_thread = true;
	return 0;
}

int pa_session_event_fd(const struct pa_session *s)
{
	return s->done_fd;
}

int pa_session_request_stop(struct pa_session *s)
{
	return s->has_thread ? eventfd_write(s->stop_fd, 1) : -EINVAL;
}

int pa_session_hurry(struct pa_session *s)
{
	return pa_session_request_stop(s); /* it fetches nothing */
}

int pa_session_note_signal(struct pa_session *s, enum pa_signal_role role, int signal_nr)
{
	return 0;
}

int pa_session_cancel(struct pa_session *s)
{
	return eventfd_write(s->cancel_fd, 1);
}

static void join(struct pa_session *s)
{
	if (s->has_thread)
		(void)pthread_join(s->thread, NULL);
	s->has_thread = false;
}

int pa_session_stop(struct pa_session *s, struct pa_error *err)
{
	if (!s->has_thread)
		return -EINVAL;
	(void)pa_session_request_stop(s);
	join(s);
	return s->is_cancelled ? -ECANCELED : env_error("FAKE_STOP_ERROR", ENOSPC, err);
}

int pa_session_wait(struct pa_session *s, int timeout_ms, struct pa_error *err)
{
	return pa_session_stop(s, err);
}

int pa_session_metrics(const struct pa_session *s, struct pa_metrics **ret_metrics,
		       struct pa_error *err)
{
	static const struct pa_metric item = { "perf_agent_info",  "A fake.", PA_METRIC_GAUGE, 1,
					       { { NULL, NULL } }, 0 };
	struct pa_metrics *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	*m = (struct pa_metrics){ sizeof(*m), sizeof(item), 0, &item, 1 };
	*ret_metrics = m;
	return 0;
}

void pa_metrics_free(struct pa_metrics *metrics)
{
	free(metrics);
}

void pa_session_free(struct pa_session *s)
{
	if (!s)
		return;
	(void)pa_session_cancel(s);
	join(s);
	close(s->stop_fd);
	close(s->cancel_fd);
	close(s->done_fd);
	if (s->target_fd >= 0)
		close(s->target_fd);
	summary_reader_done(&s->recorded);
	free(s);
}

int pa_session_progress(const struct pa_session *s, struct pa_progress *ret_progress)
{
	*ret_progress = (struct pa_progress){
		.sz = sizeof(*ret_progress),
		.phase = (enum pa_phase)s->phase,
		.elapsed_ns = 1500 * NS_PER_MS,
		.duration_ns = s->opts.duration_ns,
		.nr_samples = 1234,
		.nr_stacks = 56,
		.agent_cpu_ns = 15 * NS_PER_MS,
	};
	return 0;
}

const struct pa_summary *pa_session_summary(const struct pa_session *s)
{
	return s->has_summary ? &s->summary : NULL;
}

int pa_doctor(const struct pa_options *opts, pa_check_fn fn, void *ctx)
{
	bool has_failed = env_number("FAKE_DOCTOR_FAILED", 0) > 0;
	bool is_limited = !getenv("FAKE_DOCTOR_ALL_OK");
	struct pa_check checks[] = {
		{ PA_CHECK_OK, "kernel BTF", "present", NULL },
		{ has_failed ? PA_CHECK_FAILED : PA_CHECK_OK, "CAP_BPF",
		  has_failed ? "missing" : "there", has_failed ? "run as root" : NULL },
		{ has_failed ? PA_CHECK_FAILED : PA_CHECK_OK, "privileges",
		  has_failed ? "CAP_BPF is missing" : "all there",
		  has_failed ? "run as root" : "setcap" },
		{ is_limited ? PA_CHECK_LIMITED : PA_CHECK_OK, "kernel addresses",
		  is_limited ? "hidden by kptr_restrict" : "there",
		  is_limited ? "sysctl kernel.kptr_restrict=1" : NULL },
	};
	char target[64];

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		fn(ctx, &checks[i]);
	if (opts->nr_pids) {
		(void)snprintf(target, sizeof(target), "process %d", (int)opts->pids[0]);
		fn(ctx, &(struct pa_check){ PA_CHECK_OK, target, "can be profiled", NULL });
	}
	return has_failed ? 2 : 0;
}

long pa_max_sample_rate(void)
{
	unsigned long hz = env_number("FAKE_MAX_RATE", 100000);

	return hz ? (long)hz : -ENOENT;
}

const char *pa_url_mistake(const char *url)
{
	return server_url_mistake(url); /* the real one */
}

int fetch_main(int argc, char *const argv[])
{
	return 1;
}

const char *pa_version(void)
{
	return PERFAGENT_VERSION;
}

/* Profiles in files are read by the real library alone (tests/integration/test_files.py). */
int pa_profile_read(const char *path, const struct pa_profile_options *opts,
		    struct pa_profile **ret_profile, struct pa_error *err)
{
	return error_set(err, ENOENT, "cannot read '%s': this library reads none", path);
}

const struct pa_summary *pa_profile_summary(const struct pa_profile *p)
{
	abort();
}

int pa_profile_write(const struct pa_profile *p, const struct pa_output *output,
		     const struct pa_file_options *opts, struct pa_error *err)
{
	abort();
}

void pa_profile_free(struct pa_profile *p)
{
}

int pa_diff_new(const struct pa_profile *base, const struct pa_profile *p,
		struct pa_diff **ret_diff, struct pa_error *err)
{
	abort();
}

int pa_diff_write(const struct pa_diff *d, const struct pa_output *output,
		  const struct pa_file_options *opts, struct pa_error *err)
{
	abort();
}

void pa_diff_free(struct pa_diff *d)
{
}
