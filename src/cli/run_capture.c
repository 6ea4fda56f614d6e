/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_capture.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/duration.h"
#include "cli/exit_status.h"
#include "cli/fd_limit.h"
#include "cli/flag_names.h"
#include "cli/lost_limit.h"
#include "cli/owner.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/report_json.h"
#include "cli/scope.h"
#include "cli/signals.h"
#include "cli/subcommands.h"
#include "cli/target.h"
#include "cli/terminal_text.h"
#include "http/metrics_endpoint.h"

#define MAX_OUTPUTS 6
#define RATE_TEXT_SIZE 32
#define JSON_FUNCTIONS 100 /* in the JSON summary, however few the report shows */

struct capture_run {
	const struct options *o; /* borrowed */
	struct owner owner;
	struct console console;
	struct signals signals;
	struct command command;
	struct pa_session *session;          /* owned */
	struct pa_file *json;                /* owned; NULL: not requested */
	struct listen_socket metrics_socket; /* owned, until the endpoint has it */
	struct metrics_endpoint *metrics;    /* owned; NULL: not requested */
	char auto_name[TARGET_AUTO_NAME_SIZE];
	char target[TARGET_TEXT_SIZE];
	struct progress_meter meter;
	unsigned int nr_interrupts;
	int abort_signal; /* the signal that interrupted a second time; 0: none */
	bool is_waiting;  /* everything is written, and the command still runs */
	bool has_passed_on;
};

static int report_failure(struct capture_run *c, int r, const char *what)
{
	console_error(&c->console, "%s: %s", what, strerror(-r));
	return EXIT_STATUS_FAILED;
}

/* Prints the library's message, which has the cause and the fix. */
static int print_error(struct capture_run *c, int r, const struct pa_error *err)
{
	char text[FLAG_NAMES_SIZE];

	console_error(&c->console, "%s", flag_names(err->text[0] ? err->text : strerror(-r), text));
	return EXIT_STATUS_FAILED;
}

static int report_json_error(struct capture_run *c, int r, const struct pa_error *err)
{
	console_error(&c->console, "--json: %s", err->text[0] ? err->text : strerror(-r));
	return EXIT_STATUS_FAILED;
}

/* Lists the outputs; returns their number. */
static size_t list_outputs(const struct options *o, struct pa_output list[MAX_OUTPUTS])
{
	const char *pmu = options_pmu_path(o);
	size_t nr = 0;

	if (!o->no_profile_output && o->profile)
		list[nr++] =
			(struct pa_output){ sizeof(*list), "pprof", o->profile_output, "on-cpu" };
	if (!o->no_profile_output && o->offcpu)
		list[nr++] =
			(struct pa_output){ sizeof(*list), "pprof", o->offcpu_output, "off-cpu" };
	if (o->folded_output)
		list[nr++] = (struct pa_output){ sizeof(*list), "folded", o->folded_output, NULL };
	if (o->perf_data_output)
		list[nr++] = (struct pa_output){ sizeof(*list), "perf.data", o->perf_data_output,
						 "on-cpu" };
	if (o->flamegraph_output)
		list[nr++] = (struct pa_output){ sizeof(*list), "flamegraph", o->flamegraph_output,
						 NULL };
	if (pmu)
		list[nr++] = (struct pa_output){ sizeof(*list), "pmu",
						 strcmp(pmu, "auto") ? pmu : NULL, NULL };
	return nr;
}

static int new_session(struct capture_run *c, struct pa_error *err)
{
	const struct options *o = c->o;
	struct pa_output outputs[MAX_OUTPUTS];
	struct pa_options opts = {
		.sz = sizeof(opts),
		.pids = o->command ? &c->command.pid : o->pids,
		.nr_pids = o->command ? 1 : o->nr_pids,
		.process_names = o->names,
		.nr_process_names = o->nr_names,
		.tids = o->tids,
		.nr_tids = o->nr_tids,
		.select_user = o->user_text != NULL,
		.user = o->user,
		.cgroup = o->cgroup,
		.all = o->all,
		.no_follow_children = o->no_follow_children,
		.start_on_exec = o->command != NULL,
		.modes = (o->profile ? PA_MODE_PROFILE : 0u) | (o->offcpu ? PA_MODE_OFFCPU : 0u) |
			 (o->pmu ? PA_MODE_PMU : 0u),
		.per_process = o->per_pid,
		.event = o->event,
		.unwind = o->unwind,
		.sample_rate_hz = o->sample_rate_hz,
		.kernel_stacks = o->kernel_stacks,
		.inject_python = o->inject_python,
		.off_cpu_states = o->offcpu_states,
		.off_cpu_min_ns = o->min_block_ns,
		.program_times = o->verbosity > 0 || o->serves_metrics,
		.duration_ns = o->duration_ns,
		.outputs = outputs,
		.nr_outputs = list_outputs(o, outputs),
		.tags = o->tags,
		.nr_tags = o->nr_tags,
		.set_owner = c->owner.is_set,
		.owner_uid = c->owner.uid,
		.owner_gid = c->owner.gid,
		.debuginfod_urls = o->urls,
		.nr_debuginfod_urls = o->nr_urls,
		.symbol_cache_dir = o->symbol_cache_dir,
		.symbol_cache_max_bytes = o->symbol_cache_max_bytes,
		.symbol_fetch_timeout_ns = o->symbol_fetch_timeout_ns,
		.symbol_fail_closed = o->symbol_fail_closed,
		.kallsyms_only = o->kallsyms_only,
		.pod_name = o->pod_name,
		.pod_namespace = o->pod_namespace,
		.container_name = o->container_name,
		.max_functions = o->top > JSON_FUNCTIONS ? o->top : JSON_FUNCTIONS,
		.fetch_program = "/proc/self/exe", /* works without being installed */
		.log = console_log,
		.log_ctx = &c->console,
		.log_debug = o->verbosity > 1,
	};

	if (o->command)
		opts.target_text = target_command_line(o->command, c->target);
	else if (!o->nr_names) /* otherwise the library finds the processes */
		opts.target_text = target_describe(o, 0, c->target);
	if (o->command) /* its comm is still that of the agent */
		opts.auto_name = target_auto_name(o->command[0], c->auto_name);
	return pa_session_new(&opts, &c->session, err);
}

static int refuse_command(struct capture_run *c, int r)
{
	const char *name = c->o->command[0];
	const char *meant = r == -ENOENT && !strchr(name, '/') ? subcommand_suggest(name) : NULL;

	console_error(&c->console, "cannot run '%s': %s%s%s%s", name, command_why_not_run(name, -r),
		      meant ? "; did you mean 'perf-agent " : "", meant ? meant : "",
		      meant ? "'?" : "");
	return r == -ENOENT ? EXIT_STATUS_NOT_FOUND : EXIT_STATUS_NOT_RUN;
}

static int release_command(struct capture_run *c)
{
	int r;

	if (!c->o->command)
		return EXIT_STATUS_OK;
	r = command_release(&c->command);
	if (r == 0)
		return EXIT_STATUS_OK;
	(void)pa_session_cancel(c->session); /* pa_session_free() waits for the end */
	return refuse_command(c, r);
}

/* Not on a terminal, where the status line or the command's own output is shown, except if "all
 * processes" are only those of a PID namespace. */
static void announce(struct capture_run *c)
{
	char target[TARGET_TEXT_SIZE], duration[DURATION_TEXT_SIZE], rate[RATE_TEXT_SIZE] = "";

	if (c->o->profile)
		(void)snprintf(rate, sizeof(rate), " at %u Hz", c->o->sample_rate_hz);
	if (c->console.is_terminal && !(c->o->all && target_is_namespaced()))
		return;
	target_describe(c->o, c->command.pid, target);
	if (c->o->duration_ns)
		console_note(&c->console, "profiling %s for %s%s", target,
			     duration_format(c->o->duration_ns, duration), rate);
	else
		console_note(&c->console, "profiling %s until %s%s", target,
			     c->o->command               ? "it ends"
			     : target_has_open_end(c->o) ? "Ctrl-C"
							 : "it ends, or Ctrl-C,",
			     rate);
}

/* Errors are ignored: the session may have ended already, as intended. */
static void request_stop(struct capture_run *c)
{
	(void)pa_session_request_stop(c->session);
}

static void hurry(struct capture_run *c)
{
	(void)pa_session_hurry(c->session);
}

/*
 * Once everything is written, a terminating signal is passed to the command. An interrupt from a
 * terminal has already reached it.
 */
static bool pass_on(struct capture_run *c, int signal_nr)
{
	if (!c->is_waiting || c->has_passed_on || signal_nr == SIGINT)
		return false;
	c->has_passed_on = true;
	(void)kill(c->command.pid, signal_nr); /* not reaped yet: still its PID */
	return true;
}

static void handle_interrupt(struct capture_run *c, int signal_nr)
{
	if (pass_on(c, signal_nr))
		return;
	if (signal_nr == SIGHUP && c->nr_interrupts + c->has_passed_on > 0)
		return; /* kernel and shell both report that the terminal is gone: only one counts */
	if (++c->nr_interrupts + c->has_passed_on == 1) {
		(void)pa_session_note_signal(c->session, PA_SIGNAL_STOPPED, signal_nr);
		hurry(c);
	} else if (!c->abort_signal) {
		c->abort_signal = signal_nr;
	}
}

static void handle_signals(struct capture_run *c)
{
	int signal_nr;

	while ((signal_nr = signals_read(&c->signals)))
		if (signal_nr != SIGCHLD) /* one may stand for several children: see below */
			handle_interrupt(c, signal_nr);
	if (!c->command.pid || c->command.has_ended || !command_reap(&c->command))
		return;
	/* fails if no signal killed it */
	(void)pa_session_note_signal(c->session, PA_SIGNAL_KILLED_COMMAND,
				     command_signal(&c->command));
	request_stop(c);
}

static void show_progress(struct capture_run *c)
{
	struct pa_progress p = { .sz = sizeof(p) };
	char text[PROGRESS_TEXT_SIZE];
	uint32_t columns;

	if (!c->console.is_live)
		return;
	columns = text_terminal_columns(STDERR_FILENO);
	(void)pa_session_progress(c->session, &p);
	progress_measure(&c->meter, &p);
	console_status(&c->console, progress_format(&p, &c->meter, c->nr_interrupts > 0,
						    columns ? columns - 1 : 0, text));
}

/* Returns when everything is written, or on abort. */
static void wait_for_session(struct capture_run *c)
{
	struct pollfd fds[] = {
		{ .fd = c->signals.fd, .events = POLLIN },
		{ .fd = pa_session_event_fd(c->session), .events = POLLIN },
	};

	while (!c->abort_signal && !fds[1].revents) {
		show_progress(c);
		/* EINTR is like a timeout: everything is checked again */
		(void)poll(fds, 2, c->console.is_live ? PROGRESS_INTERVAL_MS : -1);
		handle_signals(c);
	}
	console_clear(&c->console);
}

/* The kernel reports that a process is exiting before its parent can reap it. */
#define EXIT_TO_REAP_MS 200

/* After the capture the command runs on; the agent waits until it exits. */
static void wait_for_command(struct capture_run *c)
{
	struct pollfd fd = { .fd = c->signals.fd, .events = POLLIN };

	if (!c->command.pid || command_reap(&c->command))
		return;
	c->is_waiting = true;
	(void)poll(&fd, 1, EXIT_TO_REAP_MS);
	handle_signals(c);
	if (!c->command.has_ended && !c->abort_signal)
		console_note(&c->console, "waiting for '%s' (PID %d) to end", c->o->command[0],
			     (int)c->command.pid);
	while (!c->command.has_ended && !c->abort_signal) {
		(void)poll(&fd, 1, -1);
		handle_signals(c);
	}
}

static void print_report(struct capture_run *c, const struct pa_summary *summary,
			 size_t json_size_bytes)
{
	uint32_t columns = text_terminal_columns(STDERR_FILENO);
	struct report_options opts = {
		.max_cols = columns ? columns : TEXT_NO_LIMIT,
		.is_verbose = c->o->verbosity > 0,
		.json_path = json_size_bytes ? c->o->json_path : NULL,
		.json_size_bytes = json_size_bytes,
		.sort = c->o->sort,
		.top = c->o->top,
	};

	if (c->o->quiet)
		return;
	report_print(summary, &opts, stderr);
	(void)fflush(stderr); /* if the reader is gone, an error message would be lost, too */
}

/* *ret_size_bytes is set on success only. */
static int write_json(struct capture_run *c, const struct pa_summary *summary, const char *error,
		      size_t *ret_size_bytes, struct pa_error *err)
{
	_cleanup_(freep) char *text = NULL;
	int r = report_json(summary, error, &text);

	if (r < 0)
		return r;
	r = pa_file_save(c->json, text, strlen(text), err);
	if (r < 0)
		return r;
	*ret_size_bytes = strlen(text);
	return 0;
}

/* Outputs may be complete and still lack more than the options allow. That is reported with
 * --quiet, too. */
static int check_losses(struct capture_run *c, const struct pa_summary *summary)
{
	char text[LOST_LIMIT_TEXT_SIZE];

	if (!summary || !lost_limit_exceeded(c->o, summary, text))
		return EXIT_STATUS_OK;
	console_error(&c->console, "%s; exit status %d", text, EXIT_STATUS_LOST);
	return EXIT_STATUS_LOST;
}

/* Ends the session and prints the report. Errors come last, where they are visible. */
static int end_session(struct capture_run *c)
{
	struct pa_error err = { 0 }, json_err = { 0 };
	int r = pa_session_stop(c->session, &err), json_r = 0;
	const struct pa_summary *summary = pa_session_summary(c->session);
	size_t json_size_bytes = 0;

	console_release(&c->console);
	if (summary && c->json)
		json_r = write_json(c, summary, r < 0 ? err.text : NULL, &json_size_bytes,
				    &json_err);
	if (summary)
		print_report(c, summary, json_size_bytes);
	if (r < 0)
		(void)print_error(c, r, &err);
	if (json_r < 0)
		(void)report_json_error(c, json_r, &json_err);
	if (r < 0 || json_r < 0)
		return EXIT_STATUS_FAILED;
	return check_losses(c, summary);
}

/* While writing the summary blocks on its reader, nothing else handles signals. */
static bool is_aborted(void *capture)
{
	struct capture_run *c = capture;

	handle_signals(c);
	return c->abort_signal;
}

/* Opened first: a problem is known before anything is attached, and later changes of its directory
 * do not matter. */
static int open_json(struct capture_run *c)
{
	const struct pa_file_options opts = {
		.sz = sizeof(opts),
		.set_owner = c->owner.is_set,
		.owner_uid = c->owner.uid,
		.owner_gid = c->owner.gid,
		.is_cancelled = is_aborted,
		.cancel_ctx = c,
	};
	struct pa_error err = { 0 };
	int r;

	if (!c->o->json)
		return EXIT_STATUS_OK;
	r = pa_file_open(c->o->json_path ? c->o->json_path : "-", &opts, &c->json, &err);
	return r < 0 ? report_json_error(c, r, &err) : EXIT_STATUS_OK;
}

static int report_metrics_error(struct capture_run *c, int r, const struct pa_error *err)
{
	console_error(&c->console, "--metrics-listen: %s", err->text[0] ? err->text : strerror(-r));
	return EXIT_STATUS_FAILED;
}

/* First, so that an address that cannot be used is known before anything is attached. */
static int open_metrics(struct capture_run *c)
{
	const struct listen_owner owner = { c->owner.uid, c->owner.gid };
	struct pa_error err = { 0 };
	int r;

	if (!c->o->serves_metrics)
		return EXIT_STATUS_OK;
	r = listen_socket_open(&c->o->metrics_address, c->owner.is_set ? &owner : NULL,
			       &c->metrics_socket, &err);
	return r < 0 ? report_metrics_error(c, r, &err) : EXIT_STATUS_OK;
}

/* Once signals are blocked, which its threads inherit. */
static int serve_metrics(struct capture_run *c)
{
	struct pa_error err = { 0 };
	int r;

	if (!c->o->serves_metrics)
		return EXIT_STATUS_OK;
	console_note(&c->console, "metrics at %s", c->metrics_socket.text);
	r = metrics_endpoint_start(&c->metrics_socket, c->session, &c->metrics, &err);
	if (r < 0)
		return report_metrics_error(c, r, &err);
	return EXIT_STATUS_OK;
}

/* Starting a session can take seconds, so it has its own thread. */
struct start {
	struct pa_session *session;
	struct pa_error *err;
	int done_fd;
	int result;
};

static void *start_thread(void *arg)
{
	struct start *s = arg;
	uint64_t one = 1;

	s->result = pa_session_start(s->session, s->err);
	(void)!write(s->done_fd, &one, sizeof(one)); /* cannot block: the counter is 0 */
	return NULL;
}

/* Starts the session while signals are handled. If no thread can be created, they are handled
 * afterwards. */
static int start_session(struct capture_run *c, struct pa_error *err)
{
	_cleanup_(closep) int done_fd = eventfd(0, EFD_CLOEXEC);
	struct start s = { c->session, err, done_fd, 0 };
	struct pollfd fds[] = {
		{ .fd = c->signals.fd, .events = POLLIN },
		{ .fd = done_fd, .events = POLLIN },
	};
	pthread_t thread;

	if (done_fd < 0 || pthread_create(&thread, NULL, start_thread, &s) != 0)
		return pa_session_start(c->session, err);
	while (!fds[1].revents) {
		(void)poll(fds, 2, -1);
		handle_signals(c);
		if (c->abort_signal)
			(void)pa_session_cancel(c->session); /* may be too late */
	}
	pthread_join(thread, NULL);
	if (c->nr_interrupts)
		request_stop(c); /* a request before the start was ignored */
	return s.result;
}

static bool is_stdout(const char *path)
{
	return path && (!strcmp(path, "-") || !strcmp(path, "/dev/stdout"));
}

/* A profile on stdout must not be mixed with the command's own output. */
static int command_stdout(const struct options *o)
{
	return is_stdout(o->profile_output) || is_stdout(o->offcpu_output) ||
			       is_stdout(o->folded_output) || is_stdout(o->flamegraph_output) ||
			       is_stdout(o->pmu_output)
		       ? STDERR_FILENO
		       : STDOUT_FILENO;
}

/* Does everything that can fail before the first sample. Returns an exit status. */
static int set_up(struct capture_run *c)
{
	struct pa_error err = { 0 };
	int r = c->o->command ? command_find(c->o->command[0]) : 0, status;

	if (r < 0)
		return refuse_command(c, r);
	status = open_json(c);
	if (status == EXIT_STATUS_OK)
		status = open_metrics(c);
	if (status != EXIT_STATUS_OK)
		return status;
	r = signals_init(&c->signals);
	if (r < 0)
		return report_failure(c, r, "cannot prepare for signals");
	if (c->o->command)
		r = command_spawn(&c->command, c->o->command, &c->signals, command_stdout(c->o));
	if (r < 0)
		return report_failure(c, r, "cannot start a process for the command");
	fd_limit_raise();
	r = new_session(c, &err);
	if (r < 0)
		return print_error(c, r, &err);
	r = signals_block(&c->signals);
	if (r < 0)
		return report_failure(c, r, "cannot prepare for signals");
	status = serve_metrics(c);
	if (status != EXIT_STATUS_OK)
		return status;
	r = start_session(c, &err);
	if (c->abort_signal)
		return EXIT_STATUS_OK;
	return r < 0 ? print_error(c, r, &err) : EXIT_STATUS_OK;
}

static int run_to_end(struct capture_run *c)
{
	int status = set_up(c);

	if (status == EXIT_STATUS_OK && !c->abort_signal)
		status = release_command(c);
	if (status != EXIT_STATUS_OK)
		return status;
	announce(c);
	handle_signals(c); /* the command may have exited before SIGCHLD was handled */
	wait_for_session(c);
	if (!c->abort_signal) {
		status = end_session(c);
		wait_for_command(c);
	}
	if (c->abort_signal) {
		console_release(&c->console);
		(void)pa_session_cancel(c->session);
		console_note(&c->console, "aborted by a second signal");
		return EXIT_STATUS_SIGNAL + c->abort_signal;
	}
	if (status == EXIT_STATUS_OK && c->command.has_ended)
		status = command_status(&c->command);
	return status;
}

int run_capture(const struct options *o)
{
	struct capture_run c = {
		.o = o,
		.owner = owner_from_environment(),
		.signals.fd = -1,
		.metrics_socket = LISTEN_SOCKET_NONE,
		.command = COMMAND_NONE,
	};
	int status;

	console_init(&c.console, o->quiet, o->verbosity, o->command != NULL);
	status = run_to_end(&c);
	console_release(&c.console);
	metrics_endpoint_free(c.metrics);
	listen_socket_close(&c.metrics_socket);
	pa_session_free(c.session); /* before the child ends that failed to become a command */
	pa_file_free(c.json);
	command_done(&c.command);
	signals_done(&c.signals);
	return status;
}
