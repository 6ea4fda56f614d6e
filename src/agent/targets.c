/* SPDX-License-Identifier: Apache-2.0 */
/* From the PIDs that were asked for to the processes that are followed. */
#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>

#include "agent/session.h"
#include "base/array.h"
#include "base/error.h"

#define PID_LIMIT (1u << 22) /* include/linux/threads.h: PID_MAX_LIMIT */
#define MAX_PROCESSES (1u << 22)
#define MAX_ROUNDS 64 /* a fork bomb would keep us here for ever */

/* A family while it is gathered: who is in it, and everybody with their parent. */
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

/* A pidfd is readable once its process has ended, also while nobody has waited for it. */
static bool is_running(pid_t pid)
{
	_cleanup_(closep) int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return fd >= 0 && poll(&p, 1, 0) == 0;
}

/* A process that ended between being seen and being added would stay a target for ever. */
static int add_target(struct pa_session *s, pid_t pid, enum pa_target_state state)
{
	int r = programs_add_target(s->programs, pid, state);

	if (r < 0)
		return r;
	r = capture_scan(s->capture, pid);
	if (!is_running(pid)) {
		(void)programs_remove_target(s->programs, pid); /* the exit program may have */
		return -ESRCH;
	}
	return r == -ENOMEM ? r : 0; /* an unreadable process is sampled, if not named */
}

static int note_parent(void *ctx, pid_t pid)
{
	struct family *f = ctx;
	pid_t ppid;
	int r = procfs_parent(&f->s->capture->procfs, pid, &ppid);

	if (r < 0)
		return r == -ENOMEM ? r : 0; /* gone */
	r = ARRAY_RESERVE(f->all, f->cap, f->nr + 1, MAX_PROCESSES);
	if (r < 0)
		return r;
	f->all[f->nr].pid = pid;
	f->all[f->nr++].ppid = ppid;
	return 0;
}

/* Adds the children of members. 1: there were new ones. */
static int add_children(struct family *f)
{
	int found = 0;

	for (uint32_t i = 0; i < f->nr; i++) {
		pid_t pid = f->all[i].pid;
		int r;

		if (is_member(f, pid) || !is_member(f, f->all[i].ppid))
			continue;
		f->is_member[pid / 8] |= (uint8_t)(1u << (pid % 8));
		r = add_target(f->s, pid, PA_TARGET_ON);
		if (r < 0 && r != -ESRCH)
			return r;
		found = 1;
	}
	return found;
}

/* Children that exist already. Those forked from now on are the kernel side's business, which knows
 * the members found so far: repeat until nobody new is found. */
static int add_descendants(struct family *f)
{
	int r = 1;

	for (int round = 0; round < MAX_ROUNDS && r > 0; round++) {
		f->nr = 0;
		r = procfs_each_pid(&f->s->capture->procfs, note_parent, f);
		if (r == 0)
			r = add_children(f);
	}
	return r < 0 ? r : 0;
}

static int add_pids(struct pa_session *s, struct family *f, struct pa_error *err)
{
	const struct pa_options *o = &s->settings.o;
	enum pa_target_state state = o->start_on_exec ? PA_TARGET_AT_EXEC : PA_TARGET_ON;

	for (size_t i = 0; i < o->nr_pids; i++) {
		pid_t pid = o->pids[i];
		int r = add_target(s, pid, state);

		if (r == -ESRCH)
			return error_set(err, ESRCH,
					 "--pid %d: the process exited before sampling could start",
					 pid);
		if (r < 0)
			return error_set(err, -r, "--pid %d: %s", pid, strerror(-r));
		if ((uint32_t)pid < PID_LIMIT)
			f->is_member[pid / 8] |= (uint8_t)(1u << (pid % 8));
	}
	return 0;
}

int session_add_targets(struct pa_session *s, struct pa_error *err)
{
	const struct pa_options *o = &s->settings.o;
	struct family f = { .s = s };
	int r;

	if (o->all)
		return capture_scan_all(s->capture);
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

void session_recheck_targets(struct pa_session *s)
{
	const struct pa_options *o = &s->settings.o;

	for (size_t i = 0; i < o->nr_pids; i++)
		if (!is_running(o->pids[i]))
			(void)programs_remove_target(s->programs,
						     o->pids[i]); /* most often it was */
}

bool session_targets_are_gone(struct pa_session *s)
{
	pid_t pid;

	while (programs_exiting(s->programs, &pid) == 0) {
		if (is_running(pid))
			return false;
		programs_forget_exiting(s->programs, pid);
	}
	return true;
}
