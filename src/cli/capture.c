/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/capture.h"

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
#include "cli/owner.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/report_json.h"
#include "cli/scope.h"
#include "cli/signals.h"
#include "cli/target.h"
#include "cli/text.h"

struct capture {
	const struct options *o; /* borrowed */
	struct owner owner;
	struct console console;
	struct signals signals;
	struct command command;
	struct pa_session *session; /* owned */
	struct pa_file *json;       /* owned; NULL: none is asked for */
	char auto_name[TARGET_AUTO_NAME_SIZE];
	struct progress_meter meter;
	unsigned int nr_interrupts;
	int abort_signal; /* the second interrupt; 0: none */
	bool is_waiting;  /* all is written, and the command still runs */
	bool has_passed_on;
};

static int tell(struct capture *c, int r, const char *what)
{
	console_error(&c->console, "%s: %s", what, strerror(-r));
	return EXIT_STATUS_FAILED;
}

/* The library's sentence, which names the cause and the cure. */
static int tell_error(struct capture *c, int r, const struct pa_error *err)
{
	console_error(&c->console, "%s", err->text[0] ? err->text : strerror(-r));
	return EXIT_STATUS_FAILED;
}

static int tell_json_error(struct capture *c, int r, const struct pa_error *err)
{
	console_error(&c->console, "--json: %s", err->text[0] ? err->text : strerror(-r));
	return EXIT_STATUS_FAILED;
}

static int new_session(struct capture *c, struct pa_error *err)
{
	const struct options *o = c->o;
	struct pa_options opts = {
		.sz = sizeof(opts),
		.pids = o->command ? &c->command.pid : o->pids,
		.nr_pids = o->command ? 1 : o->nr_pids,
		.all = o->all,
		.no_follow_children = o->no_follow_children,
		.start_on_exec = o->command != NULL,
		.event = o->event,
		.unwind = o->unwind,
		.sample_rate_hz = o->sample_rate_hz,
		.kernel_stacks = o->kernel_stacks,
		.duration_ns = o->duration_ns,
		.pprof_path = o->profile_output,
		.folded_path = o->folded_output,
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
		.fetch_program = "/proc/self/exe", /* one file, also where it is not installed */
		.log = console_log,
		.log_ctx = &c->console,
	};

	if (o->command) /* its own comm is still that of the agent */
		opts.auto_name = target_auto_name(o->command[0], c->auto_name);
	return pa_session_new(&opts, &c->session, err);
}

static int release_command(struct capture *c)
{
	int r;

	if (!c->o->command)
		return EXIT_STATUS_OK;
	r = command_release(&c->command);
	if (r == 0)
		return EXIT_STATUS_OK;
	(void)pa_session_cancel(c->session); /* freeing it waits for the end */
	console_error(&c->console, "cannot run '%s': %s", c->o->command[0], strerror(-r));
	return EXIT_STATUS_FAILED;
}

/* On a terminal the status line says it better, unless the whole machine is not the whole one. */
static void announce(struct capture *c)
{
	char target[TARGET_TEXT_SIZE], duration[DURATION_TEXT_SIZE];

	if (c->console.is_live && !(c->o->all && target_is_namespaced()))
		return;
	target_describe(c->o, c->command.pid, target);
	if (c->o->duration_ns)
		console_note(&c->console, "profiling %s for %s at %u Hz", target,
			     duration_format(c->o->duration_ns, duration), c->o->sample_rate_hz);
	else
		console_note(&c->console, "profiling %s until it ends at %u Hz", target,
			     c->o->sample_rate_hz);
}

/* For both: the session may have ended meanwhile, which is what was wanted. */
static void request_stop(struct capture *c)
{
	(void)pa_session_request_stop(c->session);
}

static void hurry(struct capture *c)
{
	(void)pa_session_hurry(c->session);
}

/*
 * Once all is written, being told to end is meant for what still runs. An interrupt from a terminal
 * has reached the command without us.
 */
static bool pass_on(struct capture *c, int signal_nr)
{
	if (!c->is_waiting || c->has_passed_on || signal_nr == SIGINT)
		return false;
	c->has_passed_on = true;
	(void)kill(c->command.pid, signal_nr); /* not yet reaped, so the PID is its own */
	return true;
}

static void handle_interrupt(struct capture *c, int signal_nr)
{
	if (pass_on(c, signal_nr))
		return;
	if (signal_nr == SIGHUP && c->nr_interrupts + c->has_passed_on > 0)
		return; /* kernel and shell both tell of a terminal that is gone: not a second wish */
	if (++c->nr_interrupts + c->has_passed_on == 1)
		hurry(c);
	else if (!c->abort_signal)
		c->abort_signal = signal_nr;
}

static void handle_signals(struct capture *c)
{
	int signal_nr;

	while ((signal_nr = signals_read(&c->signals)))
		if (signal_nr != SIGCHLD) /* one may stand for several children: see below */
			handle_interrupt(c, signal_nr);
	if (c->command.pid && !c->command.has_ended && command_reap(&c->command))
		request_stop(c);
}

static void show_progress(struct capture *c)
{
	struct pa_progress p = { .sz = sizeof(p) };
	char text[PROGRESS_TEXT_SIZE];
	uint32_t columns;

	if (!c->console.is_live)
		return;
	columns = text_terminal_columns(STDERR_FILENO);
	pa_session_progress(c->session, &p);
	progress_measure(&c->meter, &p);
	console_status(&c->console, progress_format(&p, &c->meter, c->nr_interrupts > 0,
						    columns ? columns - 1 : 0, text));
}

/* Until everything is written, or aborted. */
static void wait_for_session(struct capture *c)
{
	struct pollfd fds[] = {
		{ .fd = c->signals.fd, .events = POLLIN },
		{ .fd = pa_session_event_fd(c->session), .events = POLLIN },
	};

	while (!c->abort_signal && !fds[1].revents) {
		show_progress(c);
		/* EINTR is as good as a timeout: all is looked at again */
		(void)poll(fds, 2, c->console.is_live ? PROGRESS_INTERVAL_MS : -1);
		handle_signals(c);
	}
	console_clear(&c->console);
}

/* The kernel tells that a process is about to end before its parent can hear of it. */
#define HEARSAY_MS 200

/* After the capture the command runs on, and is the caller's business until it ends. */
static void wait_for_command(struct capture *c)
{
	struct pollfd fd = { .fd = c->signals.fd, .events = POLLIN };

	if (!c->command.pid || command_reap(&c->command))
		return;
	c->is_waiting = true;
	(void)poll(&fd, 1, HEARSAY_MS);
	handle_signals(c);
	if (!c->command.has_ended && !c->abort_signal)
		console_note(&c->console, "waiting for '%s' (PID %d) to end", c->o->command[0],
			     (int)c->command.pid);
	while (!c->command.has_ended && !c->abort_signal) {
		(void)poll(&fd, 1, -1);
		handle_signals(c);
	}
}

static void print_report(struct capture *c, const struct pa_summary *summary,
			 size_t json_size_bytes)
{
	uint32_t columns = text_terminal_columns(STDERR_FILENO);
	struct report_options opts = {
		.max_cols = columns ? columns : TEXT_NO_LIMIT,
		.is_verbose = c->o->verbosity > 0,
		.is_system_wide = c->o->all,
		.has_kernel_stacks = c->o->kernel_stacks,
		.json_path = json_size_bytes ? c->o->json_path : NULL,
		.json_size_bytes = json_size_bytes,
	};

	if (c->o->quiet)
		return;
	report_print(summary, &opts, stderr);
	(void)fflush(stderr); /* a reader who left has no use for an error either */
}

/* *ret_size_bytes is set on success only. */
static int write_json(struct capture *c, const struct pa_summary *summary, const char *error,
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

/* Whether the outputs, though written, lack what was to be in them at any rate. */
static bool is_short_of(const struct options *o, const struct pa_summary *s)
{
	if (s->nr_unnamed_by_rule)
		return true;
	return o->strict && (s->ticks_lost || s->sideband_lost);
}

/* Ends the session and tells what it saw. What went wrong is told last, where it is seen. */
static int conclude(struct capture *c)
{
	struct pa_error err = { 0 }, json_err = { 0 };
	int r = pa_session_stop(c->session, &err), json_r = 0;
	const struct pa_summary *summary = pa_session_summary(c->session);
	size_t json_size_bytes = 0;

	if (summary && c->json)
		json_r = write_json(c, summary, r < 0 ? err.text : NULL, &json_size_bytes,
				    &json_err);
	if (summary)
		print_report(c, summary, json_size_bytes);
	if (r < 0)
		(void)tell_error(c, r, &err);
	if (json_r < 0)
		(void)tell_json_error(c, json_r, &json_err);
	if (r < 0 || json_r < 0)
		return EXIT_STATUS_FAILED;
	return summary && is_short_of(c->o, summary) ? EXIT_STATUS_LOST : EXIT_STATUS_OK;
}

/* While the summary waits for its reader, nobody else looks at signals. */
static bool is_aborted(void *capture)
{
	struct capture *c = capture;

	handle_signals(c);
	return c->abort_signal;
}

/* Opened first of all: what stands in its way is known before anything is attached, and what changes
 * in its directory later does not matter. */
static int open_json(struct capture *c)
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
	return r < 0 ? tell_json_error(c, r, &err) : EXIT_STATUS_OK;
}

static void handle_signals(struct capture *c);
static void request_stop(struct capture *c);

/* The start of a session, which can take seconds, on a thread of its own. */
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
	(void)!write(s->done_fd, &one, sizeof(one)); /* an empty counter takes it */
	return NULL;
}

/* Signals are heard meanwhile. Where there can be no thread, they are when it is done. */
static int start_session(struct capture *c, struct pa_error *err)
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
			(void)pa_session_cancel(c->session); /* too late is fine */
	}
	pthread_join(thread, NULL);
	if (c->nr_interrupts)
		request_stop(c); /* one that came before it had begun was not heard */
	return s.result;
}

static bool is_stdout(const char *path)
{
	return path && (!strcmp(path, "-") || !strcmp(path, "/dev/stdout"));
}

/* A profile and the command's own text in one stream would be neither. */
static int command_stdout(const struct options *o)
{
	return is_stdout(o->profile_output) || is_stdout(o->folded_output) ? STDERR_FILENO
									   : STDOUT_FILENO;
}

/* Everything that can fail before the first sample. Returns an exit status. */
static int set_up(struct capture *c)
{
	struct pa_error err = { 0 };
	int r, status = open_json(c);

	if (status != EXIT_STATUS_OK)
		return status;
	r = signals_init(&c->signals);
	if (r < 0)
		return tell(c, r, "cannot prepare for signals");
	if (c->o->command)
		r = command_spawn(&c->command, c->o->command, &c->signals, command_stdout(c->o));
	if (r < 0)
		return tell(c, r, "cannot start a process for the command");
	fd_limit_raise();
	r = new_session(c, &err);
	if (r < 0)
		return tell_error(c, r, &err);
	r = signals_block(&c->signals);
	if (r < 0)
		return tell(c, r, "cannot prepare for signals");
	r = start_session(c, &err);
	if (c->abort_signal)
		return EXIT_STATUS_OK;
	return r < 0 ? tell_error(c, r, &err) : EXIT_STATUS_OK;
}

static int run(struct capture *c)
{
	int status = set_up(c);

	if (status == EXIT_STATUS_OK && !c->abort_signal)
		status = release_command(c);
	if (status != EXIT_STATUS_OK)
		return status;
	announce(c);
	handle_signals(c); /* the command may have ended before its end could be signalled */
	wait_for_session(c);
	if (!c->abort_signal) {
		status = conclude(c);
		wait_for_command(c);
	}
	if (c->abort_signal) {
		(void)pa_session_cancel(c->session);
		console_note(&c->console, "aborted by a second signal");
		return EXIT_STATUS_SIGNAL + c->abort_signal;
	}
	if (status == EXIT_STATUS_OK && c->command.has_ended)
		status = command_status(&c->command);
	return status;
}

int capture_main(const struct options *o)
{
	struct capture c = {
		.o = o,
		.owner = owner_from_environment(),
		.signals.fd = -1,
		.command = COMMAND_NONE,
	};
	int status;

	console_init(&c.console, o->quiet, o->verbosity);
	status = run(&c);
	pa_session_free(c.session); /* before the child that failed to become a command ends */
	pa_file_free(c.json);
	command_done(&c.command);
	signals_done(&c.signals);
	return status;
}
