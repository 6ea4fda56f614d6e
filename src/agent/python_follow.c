/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes are targets, from the beginning on and later. */
#include <errno.h>
#include <unistd.h>

#include "agent/python_work.h"
#include "base/clock.h"
#include "collect/programs.h"
#include "proc/cgroup_dir.h"

#define FIRST_LOOK_NS NS_PER_MS     /* after an exec */
#define NEW_NS (300 * NS_PER_MS)    /* a program that was just executed is mapped by then */
#define LEAVING_NS (50 * NS_PER_MS) /* until the other threads have ended as well */

/* ---- selection ---- */

struct membership {
	pid_t pid;
	bool is_found;
};

static int compare_pid(void *ctx, pid_t pid)
{
	struct membership *m = ctx;

	m->is_found = pid == m->pid;
	return m->is_found;
}

static bool is_in_cgroup(const struct python_work *w, pid_t pid)
{
	struct membership m = { .pid = pid };

	(void)cgroup_dir_each_pid(w->cfg.cgroup_fd, compare_pid, &m);
	return m.is_found;
}

static bool is_selected(const struct python_work *w, pid_t pid)
{
	struct proc_status status;

	if (pid == getpid())
		return false;
	switch (w->cfg.settings->select) {
	case PA_SELECT_ALL:
		return true;
	case PA_SELECT_PIDS:
		return programs_has_target(w->cfg.programs, pid);
	case PA_SELECT_USER:
		return procfs_status(w->cfg.procfs, pid, &status) == 0 &&
		       status.euid == w->cfg.settings->o.user;
	case PA_SELECT_CGROUP:
		return is_in_cgroup(w, pid);
	case PA_SELECT_TIDS:
		break;
	}
	return false;
}

bool python_follow_is_gone(const struct python_work *w, const struct python_target *t)
{
	struct proc_stat st;

	return procfs_stat(w->cfg.procfs, t->sw.pid, &st) < 0 ||
	       st.start_ticks != t->sw.start_ticks ||
	       procfs_live_thread(w->cfg.procfs, t->sw.pid) == 0;
}

/* ---- all processes ---- */

/* A process that exists already. Kernel threads have no program. */
static int add_existing(void *ctx, pid_t pid)
{
	struct python_work *w = ctx;
	struct python_target *t;
	struct proc_stat st;
	char program[4096];

	if (atomic_load(&w->is_ending))
		return -ECANCELED;
	if (python_list_find(&w->list, pid) ||
	    procfs_program(w->cfg.procfs, pid, program, sizeof(program)) == -ENOENT ||
	    !is_selected(w, pid))
		return 0;
	t = python_work_add(w, pid);
	if (!t)
		return 0;
	python_work_begin(t, INJECT_ACTIVATE, clock_mono_ns());
	if (procfs_stat(w->cfg.procfs, pid, &st) == 0)
		t->new_until_ns = proc_stat_started_ns(&st) + NEW_NS;
	return 0;
}

void python_follow_scan(struct python_work *w)
{
	w->needs_scan = false;
	/* processes that cannot be listed are not sampled by name either */
	if (w->cfg.settings->select == PA_SELECT_CGROUP)
		(void)cgroup_dir_each_pid(w->cfg.cgroup_fd, add_existing, w);
	else
		(void)procfs_each_pid(w->cfg.procfs, add_existing, w);
}

/* ---- children ---- */

/* A child that is not a target itself is in the list for its trampoline, if it may have one. */
static bool is_listed(const struct python_work *w, const struct python_target *parent, pid_t pid)
{
	if (parent->has_outcome && parent->outcome == PYTHON_NOT_PYTHON)
		return false;
	if (parent->sw.has_interpreter && parent->sw.page)
		return true;
	return (parent->has_outcome || parent->sw.has_interpreter) && is_selected(w, pid);
}

/* The kernel tells of a fork on two CPUs. */
static bool is_known_fork(const struct python_work *w, const struct python_target *t)
{
	struct proc_stat st;

	return t && t->is_forked && procfs_stat(w->cfg.procfs, t->sw.pid, &st) == 0 &&
	       st.start_ticks == t->sw.start_ticks;
}

/* A daemon is the child of a child that ends at once, of which nothing can be read any more: it inherits from
 * the one before. */
static const struct python_target *find_parent(const struct python_work *w, pid_t pid)
{
	const struct python_target *t = python_list_find(&w->list, pid);

	if (t && t->origin && !t->sw.page && python_follow_is_gone(w, t))
		t = python_list_find(&w->list, t->origin);
	return t;
}

static void note_fork(struct python_work *w, const struct python_event *e)
{
	const struct python_target *parent = find_parent(w, e->ppid);
	struct python_target *t = python_list_find(&w->list, e->pid);

	if (is_known_fork(w, t))
		return;
	python_list_remove(&w->list, e->pid); /* a former process of this PID */
	if (!parent || !is_listed(w, parent, e->pid))
		return;
	t = python_work_add(w, e->pid);
	if (!t)
		return;
	t->is_forked = true;
	t->origin = parent->sw.pid;
	if (parent->sw.has_interpreter)
		(void)python_work_do(w, t, PYTHON_FORK, parent);
	if (t->sw.is_on)
		python_work_note(w, t, PYTHON_SWITCHED);
	else if (is_selected(w, e->pid) && parent->has_outcome &&
		 parent->outcome != PYTHON_SWITCHED)
		python_work_note(w, t, parent->outcome);
	else if (is_selected(w, e->pid))
		python_work_begin(t, INJECT_ACTIVATE, clock_mono_ns());
}

static int add_missed(void *ctx, pid_t pid)
{
	struct python_work *w = ctx;
	const struct python_target *parent;
	struct python_target *t;
	pid_t ppid;

	if (clock_mono_ns() > python_off_deadline_ns(w))
		return -ETIMEDOUT;
	if (python_list_find(&w->list, pid) || procfs_parent(w->cfg.procfs, pid, &ppid) < 0)
		return 0;
	parent = python_list_find(&w->list, ppid);
	if (!parent || !parent->sw.page)
		return 0;
	t = python_work_add(w, pid);
	if (!t)
		return -E2BIG;
	t->is_forked = true;
	(void)python_work_do(w, t, PYTHON_FORK, parent);
	if (t->sw.is_on)
		python_work_note(w, t, PYTHON_SWITCHED);
	return 0;
}

void python_follow_missed(struct python_work *w)
{
	if (w->list.nr)
		(void)procfs_each_pid(w->cfg.procfs, add_missed, w);
}

/* ---- other events ---- */

/* It runs another program from now on. */
static void note_exec(struct python_work *w, const struct python_event *e)
{
	struct python_target *t = python_list_find(&w->list, e->pid);
	uint64_t now_ns = clock_mono_ns();

	if (!t)
		return;
	if (t->is_strict) {
		python_switch_init(&t->sw, w->cfg.procfs, e->pid);
		t->new_until_ns = now_ns + NEW_NS;
		python_work_begin(t, INJECT_ACTIVATE, now_ns + FIRST_LOOK_NS);
		return;
	}
	if (t->is_forked)
		t->has_outcome = false;
	python_list_remove(&w->list, e->pid);
}

/* A file that is not known to be no Python was mapped. */
static void note_mmap(struct python_work *w, const struct python_event *e)
{
	struct python_target *t = python_list_find(&w->list, e->pid);
	uint64_t now_ns = clock_mono_ns();

	if (!w->tracer || interpreter_cache_has(&w->cache, e->file_key))
		return;
	if (t && t->sw.stage == PYTHON_SETTLED && t->has_outcome && t->outcome == PYTHON_NOT_PYTHON)
		python_work_begin(t, INJECT_ACTIVATE, now_ns);
	else if (t && t->sw.stage == PYTHON_WAITS && !t->sw.has_interpreter)
		t->due_ns = now_ns;
	if (t)
		return;
	if (w->cfg.settings->select == PA_SELECT_CGROUP)
		w->needs_scan =
			true; /* once for many events: all processes of the cgroup are read */
	else if (is_selected(w, e->pid))
		t = python_work_add(w, e->pid);
	if (!t)
		return;
	t->new_until_ns = now_ns + NEW_NS;
	python_work_begin(t, INJECT_ACTIVATE, now_ns);
}

/* The first thread of a process may end before the others. */
static void note_exit(struct python_work *w, const struct python_event *e)
{
	struct python_target *t = python_list_find(&w->list, e->pid);

	if (!t || t->is_strict)
		return;
	if (!python_follow_is_gone(w, t)) {
		if (t->sw.stage == PYTHON_SETTLED)
			t->due_ns = clock_mono_ns() + LEAVING_NS;
		return;
	}
	if (!t->has_outcome && t->sw.has_interpreter && t->sw.op == INJECT_ACTIVATE &&
	    t->sw.stage != PYTHON_SETTLED)
		python_work_note(w, t, PYTHON_GONE);
	python_list_remove(&w->list, e->pid);
}

void python_follow_event(struct python_work *w, const struct python_event *e)
{
	switch (e->type) {
	case EVENT_FORK:
		note_fork(w, e);
		break;
	case EVENT_EXEC:
		note_exec(w, e);
		break;
	case EVENT_EXIT:
		note_exit(w, e);
		break;
	case EVENT_MMAP:
		note_mmap(w, e);
		break;
	case EVENT_BUILD_ID:
	case EVENT_KSYMBOL:
	case EVENT_LOST:
		break;
	}
}
