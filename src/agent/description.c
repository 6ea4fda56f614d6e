/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a capture in words: its target, machine, options, and why it ended. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "agent/session.h"

#define COMMENT_SIZE 512

/* Describes processes or threads; a single one by number and name. */
static void describe_ids(struct pa_session *s, const pid_t *ids, size_t nr, const char *one,
			 const char *many)
{
	char *to = s->target_text, comm[PROC_COMM_SIZE];
	size_t size = sizeof(s->target_text);

	if (nr > 1 && s->settings.o.nr_process_names == 1 && s->settings.nr_given_pids == 0)
		(void)snprintf(to, size, "%zu processes named '%s'", nr,
			       s->settings.o.process_names[0]);
	else if (nr > 1)
		(void)snprintf(to, size, "%zu %s", nr, many);
	else if (procfs_comm(&s->world->procfs, ids[0], comm) == 0)
		(void)snprintf(to, size, "%s %d (%s)", one, (int)ids[0], comm);
	else
		(void)snprintf(to, size, "%s %d", one, (int)ids[0]);
}

void session_describe_targets(struct pa_session *s)
{
	const struct pa_options *o = &s->settings.o;
	char *to = s->target_text;
	size_t size = sizeof(s->target_text);

	if (o->target_text)
		(void)snprintf(to, size, "%s", o->target_text); /* a long text is truncated */
	else if (o->all)
		(void)snprintf(to, size, "all processes");
	else if (o->select_user)
		(void)snprintf(to, size, "processes of user ID %u", (unsigned int)o->user);
	else if (o->cgroup)
		(void)snprintf(to, size, "cgroup %s", o->cgroup);
	else if (o->nr_tids)
		describe_ids(s, o->tids, o->nr_tids, "TID", "threads");
	else
		describe_ids(s, o->pids, o->nr_pids, "PID", "processes");
}

/* "PID: 7,8"; IDs that do not fit are left out. */
static void join_ids(const char *label, const pid_t *ids, size_t nr, char *to, size_t size)
{
	size_t len = (size_t)snprintf(to, size, "%s: ", label);

	for (size_t i = 0; i < nr && len < size; i++)
		len += (size_t)snprintf(to + len, size - len, "%s%d", i ? "," : "", (int)ids[i]);
}

const char *session_pmu_heading(const struct pa_session *s, char *text, size_t size)
{
	const struct pa_options *o = &s->settings.o;

	if (o->all)
		(void)snprintf(text, size, "System-Wide%s", o->per_process ? ", Per-PID" : "");
	else if (o->select_user)
		(void)snprintf(text, size, "User: %u", (unsigned int)o->user);
	else if (o->cgroup)
		(void)snprintf(text, size, "Cgroup: %s", o->cgroup);
	else if (o->nr_tids)
		join_ids("TID", o->tids, o->nr_tids, text, size);
	else
		join_ids("PID", o->pids, o->nr_pids, text, size);
	return text;
}

__attribute__((format(printf, 2, 3))) static void add_comment(struct profile *p, const char *fmt,
							      ...)
{
	char text[COMMENT_SIZE];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)profile_add_comment(p, text); /* the profile is valid without it */
}

const char *session_unwind_name(const struct pa_session *s)
{
	static const char *const names[] = {
		[PA_UNWIND_AUTO] = "auto", [PA_UNWIND_FP] = "fp", [PA_UNWIND_DWARF] = "dwarf"
	};

	return names[s->settings.o.unwind];
}

const char *session_event_name(const struct pa_session *s)
{
	if (!(s->settings.o.modes & PA_MODE_PROFILE) && s->settings.o.modes & PA_MODE_OFFCPU)
		return "off-cpu";
	return s->settings.o.event == PA_EVENT_CYCLES ? "cycles" : "cpu-clock";
}

static void describe_sampling(const struct pa_session *s, uint32_t origin, struct profile *p)
{
	const struct pa_options *o = &s->settings.o;
	const char *kernel = o->kernel_stacks ? "on" : "off";

	if (triggers_get(s->triggers, origin) == &trigger_oncpu)
		add_comment(p, "# sampling: %s, %u Hz, unwind %s, kernel stacks %s",
			    session_event_name(s), o->sample_rate_hz, session_unwind_name(s),
			    kernel);
	else
		add_comment(p, "# sampling: %s, unwind %s, kernel stacks %s",
			    triggers_get(s->triggers, origin)->name, session_unwind_name(s),
			    kernel);
}

#define X(name) [name] = #name
static const char *const signal_names[NSIG] = {
	X(SIGHUP),    X(SIGINT),  X(SIGQUIT), X(SIGILL),    X(SIGTRAP), X(SIGABRT),
	X(SIGBUS),    X(SIGFPE),  X(SIGKILL), X(SIGUSR1),   X(SIGSEGV), X(SIGUSR2),
	X(SIGPIPE),   X(SIGALRM), X(SIGTERM), X(SIGSTKFLT), X(SIGXCPU), X(SIGXFSZ),
	X(SIGVTALRM), X(SIGPROF), X(SIGIO),   X(SIGPWR),    X(SIGSYS),
};
#undef X

const char *session_end_signal(const struct pa_session *s)
{
	bool is_stopped;
	int nr;

	if (!s->end_reason || !strcmp(s->end_reason, "duration"))
		return NULL;
	is_stopped = !strcmp(s->end_reason, "stopped");
	nr = atomic_load(&s->signals[is_stopped ? PA_SIGNAL_STOPPED : PA_SIGNAL_KILLED_COMMAND]);
	if (!nr)
		return NULL;
	return signal_names[nr] ? signal_names[nr] : "SIGRT";
}

/* pprof prints comments at the beginning of every report, except those that begin with '#'. */
void session_describe_profile(const struct pa_session *s, uint32_t origin)
{
	struct profile *p = s->models[origin].now->profile;
	struct utsname u = { 0 };

	(void)uname(&u);
	add_comment(p, "target: %s", s->target_text);
	add_comment(p, "# perf-agent %s", PERFAGENT_VERSION);
	add_comment(p, "# host: %s", u.nodename);
	add_comment(p, "# kernel: %s %s", u.release, u.machine);
	describe_sampling(s, origin, p);
}

void session_describe_end(const struct pa_session *s, uint32_t origin)
{
	struct profile *p = s->models[origin].now->profile;
	const char *signal = session_end_signal(s);

	if (atomic_load(&s->phase) != PA_PHASE_SAMPLING && s->end_reason)
		add_comment(p, "# end: %s", s->end_reason);
	if (signal)
		add_comment(p, "# end signal: %s", signal);
}
