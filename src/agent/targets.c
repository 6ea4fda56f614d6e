/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the selection into the processes and threads that are followed. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>

#include "agent/process_names.h"
#include "agent/session.h"
#include "base/array.h"
#include "base/error.h"
#include "proc/cgroup_dir.h"

#define PID_LIMIT (1u << 22) /* include/linux/threads.h: PID_MAX_LIMIT */
#define MAX_PROCESSES (1u << 22)
#define MAX_ROUNDS 64 /* limit for rounds: a fork bomb would never end */

/* A process tree while it is collected: its members, and every process with its parent. */
struct family {
	struct pa_session *s;
	uint8_t *is_member; /* owned; one bit per PID */
	struct {
		pid_t pid, ppid;
	} * all; /* owned */
	uint32_t nr, cap;
};

static bool is_member(const struct family *f, pid_t pid)
{
	return (uint32_t)pid < PID_LIMIT && (f->is_member[pid / 8] >> (pid % 8) & 1);
}

/* True unless the process has ended; a pidfd is readable from then on, even before it is reaped. */
static bool is_process_running(pid_t pid)
{
	_cleanup_(closep) int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return fd >= 0 && poll(&p, 1, 0) == 0;
}

/* True unless the thread has ended. The main thread of a process stays a zombie while other threads
 * live. */
static bool is_thread_running(const struct pa_session *s, pid_t tid)
{
	struct proc_status status;
	int r = procfs_status(&s->world->procfs, tid, &status);

	return r == 0 ? !status.is_over : r != -ESRCH;
}

/* id: as in the target map. */
static bool is_running(const struct pa_session *s, pid_t id)
{
	return s->settings.select == PA_SELECT_TIDS ? is_thread_running(s, id)
						    : is_process_running(id);
}

/* Adds id, of process pid. If it exits before it is added, no event removes it, hence the check
 * afterwards. */
static int add_target(struct pa_session *s, pid_t id, pid_t pid, enum pa_target_state state)
{
	int r = programs_add_target(s->programs, id, state);

	if (r < 0)
		return r;
	if (session_takes_samples(s))
		r = world_scan(s->world, pid);
	if (!is_running(s, id)) {
		(void)programs_remove_target(s->programs, id); /* it may be removed already */
		return -ESRCH;
	}
	return r == -ENOMEM ? r : 0; /* an unreadable process is still sampled */
}

static int note_parent(void *ctx, pid_t pid)
{
	struct family *f = ctx;
	pid_t ppid;
	int r = procfs_parent(&f->s->world->procfs, pid, &ppid);

	if (r < 0)
		return r == -ENOMEM ? r : 0; /* gone */
	r = ARRAY_RESERVE(f->all, f->cap, f->nr + 1, MAX_PROCESSES);
	if (r < 0)
		return r;
	f->all[f->nr].pid = pid;
	f->all[f->nr++].ppid = ppid;
	return 0;
}

/* Adds the children of members. Returns 1 if there were new ones. */
static int add_children(struct family *f)
{
	int found = 0;

	for (uint32_t i = 0; i < f->nr; i++) {
		pid_t pid = f->all[i].pid;
		int r;

		if (is_member(f, pid) || !is_member(f, f->all[i].ppid))
			continue;
		f->is_member[pid / 8] |= (uint8_t)(1u << (pid % 8));
		r = add_target(f->s, pid, pid, PA_TARGET_ON);
		if (r < 0 && r != -ESRCH)
			return r;
		found = 1;
	}
	return found;
}

/* Adds existing descendants. Children forked by known members from now on are added by the kernel
 * side: repeat until no new one is found. */
static int add_descendants(struct family *f)
{
	int r = 1;

	for (int round = 0; round < MAX_ROUNDS && r > 0; round++) {
		f->nr = 0;
		r = procfs_each_pid(&f->s->world->procfs, note_parent, f);
		if (r == 0)
			r = add_children(f);
	}
	return r < 0 ? r : 0;
}

/* Some of the processes found by name may have exited by now, but not all. */
static int check_found(const struct pa_session *s, struct pa_error *err)
{
	if (s->settings.o.nr_process_names == 0 || programs_nr_targets(s->programs) > 0)
		return 0;
	return error_set(err, ESRCH,
			 "pa_options.process_names: the processes exited before sampling could "
			 "start");
}

/* Adds a process that was found by its name. It may have exited in between, and its PID may be in
 * use again: the name is compared again now that an exit removes the PID from the targets. */
static int add_named(struct pa_session *s, pid_t pid, enum pa_target_state state)
{
	int r = add_target(s, pid, pid, state);

	if (r < 0 || process_names_match(&s->settings, &s->world->procfs, pid))
		return r;
	(void)programs_remove_target(s->programs, pid); /* pa_exit may have removed it */
	return -ESRCH;
}

static int add_pids(struct pa_session *s, struct family *f, struct pa_error *err)
{
	const struct pa_options *o = &s->settings.o;
	enum pa_target_state state = o->start_on_exec ? PA_TARGET_AT_EXEC : PA_TARGET_ON;

	for (size_t i = 0; i < o->nr_pids; i++) {
		pid_t pid = o->pids[i];
		bool is_given = i < s->settings.nr_given_pids;
		int r = is_given ? add_target(s, pid, pid, state) : add_named(s, pid, state);

		if (r == -ESRCH && !is_given)
			continue;
		if (r == -ESRCH)
			return error_set(err, ESRCH,
					 "pa_options.pids %d: the process exited before sampling "
					 "could start",
					 pid);
		if (r < 0)
			return error_set(err, -r, "pa_options.pids %d: %s", pid, strerror(-r));
		if ((uint32_t)pid < PID_LIMIT)
			f->is_member[pid / 8] |= (uint8_t)(1u << (pid % 8));
	}
	return check_found(s, err);
}

static int add_processes(struct pa_session *s, struct pa_error *err)
{
	const struct pa_options *o = &s->settings.o;
	struct family f = { .s = s };
	int r;

	f.is_member = calloc(PID_LIMIT / 8, 1);
	if (!f.is_member)
		return -ENOMEM;
	r = add_pids(s, &f, err);
	if (r == 0 && !o->no_follow_children && !o->start_on_exec)
		r = add_descendants(&f);
	free(f.is_member);
	free(f.all);
	return r;
}

static int add_threads(struct pa_session *s, struct pa_error *err)
{
	const struct pa_options *o = &s->settings.o;

	for (size_t i = 0; i < o->nr_tids; i++) {
		pid_t tid = o->tids[i];
		struct proc_status status;
		int r = procfs_status(&s->world->procfs, tid, &status);

		if (r == 0)
			r = add_target(s, tid, status.tgid, PA_TARGET_ON);
		if (r == -ESRCH)
			return error_set(err, ESRCH,
					 "pa_options.tids %d: the thread exited before sampling "
					 "could start",
					 tid);
		if (r < 0)
			return error_set(err, -r, "pa_options.tids %d: %s", tid, strerror(-r));
	}
	return 0;
}

static int scan_if_users(void *ctx, pid_t pid)
{
	const struct pa_session *s = ctx;
	struct proc_status status;

	if (procfs_status(&s->world->procfs, pid, &status) < 0 || status.euid != s->settings.o.user)
		return 0;
	return world_scan_one(s->world, pid);
}

/* Reads the mappings of the current targets before they are sampled. Those of later targets come
 * from events, or are read on their first sample. */
static int scan_selected(struct pa_session *s)
{
	int r = s->settings.select == PA_SELECT_USER
			? procfs_each_pid(&s->world->procfs, scan_if_users, s)
			: cgroup_dir_each_pid(s->cgroup_fd, world_scan_one, s->world);

	return r == -ECANCELED ? 0 : r; /* a process that is not known now will not be sampled */
}

int session_add_targets(struct pa_session *s, struct pa_error *err)
{
	switch (s->settings.select) {
	case PA_SELECT_PIDS:
		return add_processes(s, err);
	case PA_SELECT_TIDS:
		return add_threads(s, err);
	case PA_SELECT_ALL:
		return session_takes_samples(s) ? world_scan_all(s->world) : 0;
	case PA_SELECT_USER:
	case PA_SELECT_CGROUP:
		break;
	}
	return session_takes_samples(s) ? scan_selected(s) : 0;
}

void session_recheck_targets(struct pa_session *s)
{
	const struct pa_options *o = &s->settings.o;
	const pid_t *ids = o->nr_tids ? o->tids : o->pids;
	size_t nr = o->nr_tids ? o->nr_tids : o->nr_pids;

	for (size_t i = 0; i < nr; i++)
		if (!is_running(s, ids[i]) && programs_remove_target(s->programs, ids[i]) == 0)
			cpu_account_lose_target(&s->cpu);
}

bool session_command_has_exited(const struct pa_session *s)
{
	return s->settings.o.start_on_exec && s->settings.o.nr_pids == 1 &&
	       !is_process_running(s->settings.o.pids[0]);
}

bool session_command_is_zombie(const struct pa_session *s)
{
	return session_command_has_exited(s) &&
	       (kill(s->settings.o.pids[0], 0) == 0 || errno == EPERM);
}

bool session_targets_are_gone(struct pa_session *s)
{
	pid_t pid;

	while (programs_exiting(s->programs, &pid) == 0) {
		if (is_running(s, pid))
			return false;
		programs_forget_exiting(s->programs, pid);
	}
	return true;
}
