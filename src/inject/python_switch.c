/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/python_switch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "inject/python_page.h"
#include "inject/python_tools.h"
#include "inject/thread_look.h"
#include "inject/tracer.h"
#include "proc/procfs.h"

/* For the threads of one step: other processes wait meanwhile. */
#define STEP_NS (100 * NS_PER_MS)
#define LEAST_STOP_NS (10 * NS_PER_MS)
#define FINISH_SYSCALL_NS (20 * NS_PER_MS) /* for a system call with a time to end */
/* For the calls of one thread. It may have to wait for a CPU, but a call that takes that long is the last one
 * of its process. */
#define CALLS_NS (500 * NS_PER_MS)
#define STACK_BYTES (sizeof(struct thread_frame) + THREAD_STATE_CALL_BYTES)
#define SECCOMP_NONE 0

static void settle(struct python_switch *s, enum python_outcome outcome)
{
	s->outcome = outcome;
	s->stage = PYTHON_SETTLED;
}

static bool is_gone(const struct python_switch *s, const struct procfs *procfs)
{
	struct proc_stat st;
	int r = s->start_ticks ? procfs_stat(procfs, s->pid, &st) : -ESRCH;

	return r == 0 ? st.start_ticks != s->start_ticks : r != -ETIMEDOUT;
}

/* Nothing that was found in the process is true any more. */
static void forget_program(struct python_switch *s)
{
	s->has_interpreter = s->is_on = s->is_inherited = false;
	s->page = 0;
	s->nr_queued = 0;
	s->ns_pid = 0;
	s->in = (struct interpreter){ 0 };
	s->identity = (struct identity){ 0 };
}

/* It runs another program, or has other rights. To switch that on, it is looked at again. */
static void forget(struct python_switch *s)
{
	forget_program(s);
	if (s->stage == PYTHON_WAITS && s->op == INJECT_ACTIVATE)
		s->outcome = PYTHON_NOT_PYTHON;
	else if (s->stage != PYTHON_SETTLED)
		settle(s, PYTHON_GONE);
}

void python_switch_init(struct python_switch *s, const struct procfs *procfs, pid_t pid)
{
	struct proc_stat st;

	*s = (struct python_switch){ .pid = pid, .stage = PYTHON_SETTLED };
	if (procfs_stat(procfs, pid, &st) == 0)
		s->start_ticks = st.start_ticks;
	settle(s, s->start_ticks ? PYTHON_NOT_PYTHON : PYTHON_GONE);
}

void python_switch_begin(struct python_switch *s, enum inject_op op)
{
	s->op = op;
	s->stage = PYTHON_WAITS;
	s->outcome = s->has_interpreter ? PYTHON_NO_SAFE_POINT : PYTHON_NOT_PYTHON;
}

/* True if the thread may be stopped; otherwise s->outcome says why not. */
static bool may_stop(struct python_switch *s, const struct thread_look *l)
{
	if (l->is_traced || l->state == 't')
		s->outcome = PYTHON_TRACED;
	else if (l->state == 'T')
		s->outcome = PYTHON_STOPPED;
	else if (l->state == 'D')
		s->outcome = PYTHON_UNINTERRUPTIBLE;
	else if (l->seccomp != SECCOMP_NONE)
		s->outcome = PYTHON_SECCOMP;
	else
		return l->state == 'R' || (l->state == 'S' && !l->is_fragile);
	return false;
}

static bool is_in_eval_loop(const struct python_switch *s, const struct thread_view *st)
{
	return st->place == THREAD_IN_USER_CODE && st->pc >= s->in.eval_loop &&
	       st->pc < s->in.eval_loop_end;
}

/*
 * Whether the thread may be in the interpreter's code that takes or releases the GIL, which has a mutex
 * that _PyEval_AddPendingCall() of 3.13 takes as well. There it waits for, and wakes up, condition variables
 * inside _PyRuntime, and reads the clock. A waiter of such a condition variable keeps another thread, which
 * has the mutex, waiting in pthread_cond_signal() until it has seen that it was woken up.
 */
static bool may_be_at_gil(const struct python_switch *s, const struct thread_view *st)
{
	switch (st->syscall_nr) {
	case SYS_futex:
	case SYS_restart_syscall: /* as the kernel continues it after an earlier stop */
		return !st->syscall_arg ||
		       (st->syscall_arg >= s->in.runtime && st->syscall_arg < s->in.runtime_end);
	case SYS_clock_gettime:
#ifdef SYS_gettimeofday
	case SYS_gettimeofday:
#endif
		return true;
	default:
		return false;
	}
}

/* A handler that runs has its signal blocked. */
static bool is_at_safe_point(const struct python_switch *s, const struct thread_look *l,
			     const struct thread_view *st)
{
	if (st->place == THREAD_IN_SYSCALL)
		return !(st->sigmask & l->caught) && !may_be_at_gil(s, st);
	return is_in_eval_loop(s, st);
}

static enum python_outcome outcome_of(int error)
{
	switch (error) {
	case -ESRCH:
		return PYTHON_GONE;
	case -EPERM:
	case -EACCES:
		return PYTHON_NO_PERMISSION;
	case -ENOMEM:
		return PYTHON_NO_MEMORY;
	case -EAGAIN:
		return PYTHON_STOPPED;
	case -ETIMEDOUT:
		return PYTHON_NO_SAFE_POINT;
	case -EHOSTDOWN:
		return PYTHON_UNANSWERED;
	default:
		return PYTHON_FAILED;
	}
}

/* A target that has hung the tracer is not tried again. */
static void note_failure(struct python_switch *s, int error)
{
	s->outcome = outcome_of(error);
	if (error == -EHOSTDOWN)
		settle(s, s->outcome);
}

/* True if the stopped thread is one of the process that was looked at, and it runs the same program with the
 * same rights. It stays so: what is stopped executes nothing, and is asked for under its own ID. */
static bool is_still_the_same(struct python_switch *s, const struct procfs *procfs, pid_t tid)
{
	struct identity now;
	int r = identity_read(procfs, s->pid, tid, &now);

	if (r == 0 && identity_is_same(&s->identity, &now))
		return true;
	/* one thread may have rights of its own: then only that one is left alone */
	if (identity_read_process(procfs, s->pid, &now) < 0 || identity_is_same(&s->identity, &now))
		return false;
	if (s->op == INJECT_DEACTIVATE && identity_has_same_memory(&s->identity, &now))
		settle(s, PYTHON_PRIVILEGED); /* it stays on */
	else
		forget(s);
	return false;
}

/* One visit of a process: its threads are stopped one after the other. */
struct visit {
	struct python_switch *s;
	const struct python_tools *tools;
	const struct stacks *stacks;
	uint64_t end_ns;
};

static void queue_call(const struct visit *v)
{
	struct python_switch *s = v->s;
	int r = python_page_queue(s, v->tools, clock_mono_ns() + CALLS_NS);

	if (r == -ETIMEDOUT)
		settle(s, PYTHON_FAILED);
	else if (r == -ENOMEM || r == -EFAULT)
		settle(s, outcome_of(r));
	else if (r < 0)
		note_failure(s, r);
}

static void try_call(const struct visit *v, const struct thread_view *st)
{
	struct python_switch *s = v->s;

	if (!thread_look_has_stack(v->stacks, st->sp, STACK_BYTES))
		s->outcome = PYTHON_SMALL_STACK;
	else if (!interpreter_is_up(v->tools->procfs, s->pid, &s->in))
		s->outcome = PYTHON_NOT_UP;
	else
		queue_call(v);
}

/* True: the thread may be changed. A system call that the stop has ended is restarted. */
static bool check_thread(const struct visit *v, pid_t tid, const struct thread_view *st)
{
	if (!is_still_the_same(v->s, v->tools->procfs, tid))
		return false;
	if (st->must_restart)
		(void)tracer_restart(v->tools->tracer);
	return true;
}

/* A thread that is nowhere near a safe point is left as it is, and let go at once. */
static int use_stopped(const struct visit *v, pid_t tid, const struct thread_look *l,
		       struct thread_view *st)
{
	bool is_timed = st->place == THREAD_IN_TIMED_SYSCALL;
	int r = 0;

	v->s->outcome = st->has_obstacle ? PYTHON_OBSTACLE : PYTHON_NO_SAFE_POINT;
	if (st->has_obstacle && !st->must_restart)
		return 0;
	if (!is_timed && !st->must_restart && !is_at_safe_point(v->s, l, st))
		return 0;
	if (!check_thread(v, tid, st) || st->has_obstacle)
		return 0;
	if (is_timed)
		r = tracer_finish_syscall(v->tools->tracer, clock_mono_ns() + FINISH_SYSCALL_NS,
					  st);
	if (r < 0 || (is_timed && !check_thread(v, tid, st)))
		return r;
	if (!st->has_obstacle && is_at_safe_point(v->s, l, st))
		try_call(v, st);
	return 0;
}

/* Stops a thread and lets it go again. */
static void visit_thread(const struct visit *v, pid_t tid, const struct thread_look *l)
{
	struct thread_view st;
	int r = tracer_stop(v->tools->tracer, v->s->pid, tid, v->end_ns, &st);

	if (r == 0)
		r = use_stopped(v, tid, l, &st);
	if (r < 0)
		note_failure(v->s, r);
	tracer_let_go(v->tools->tracer);
}

/* The children of vfork() run in their parent's memory. What cannot be compared may be shared; but the
 * child of a process that may not be looked at has rights of its own, or has been given to another parent. */
static bool shares_memory(struct python_switch *s, const struct python_tools *tools)
{
	pid_t parent;
	int r;

	if (procfs_parent(tools->procfs, s->pid, &parent) < 0 || parent <= 0)
		return false;
	r = tracer_shares_memory(tools->tracer, s->pid, parent);
	if (r == -EHOSTDOWN)
		note_failure(s, r);
	return r < 0 ? r != -ESRCH && r != -EPERM : r;
}

/* The main thread comes first. It is the one that ends the interpreter. */
static void visit_threads(struct python_switch *s, const struct python_tools *tools)
{
	_cleanup_(freep) struct stacks *stacks = NULL;
	struct visit v = { .s = s, .tools = tools, .end_ns = clock_mono_ns() + STEP_NS };
	pid_t tids[THREAD_LOOK_MAX];
	uint32_t nr;

	if (shares_memory(s, tools))
		return;
	if (!interpreter_is_up(tools->procfs, s->pid, &s->in)) {
		s->outcome = PYTHON_NOT_UP;
		return;
	}
	nr = thread_look_list(tools->procfs, s->pid, tids);
	v.stacks = stacks = thread_look_stacks(tools->procfs, s->pid);
	for (uint32_t i = 0; stacks && i < nr && s->stage == PYTHON_WAITS && s->has_interpreter &&
			     clock_mono_ns() + LEAST_STOP_NS < v.end_ns;
	     i++) {
		struct thread_look l;

		if (thread_look_at(tools->procfs, s->pid, tids[i], &l) == 0 && may_stop(s, &l))
			visit_thread(&v, tids[i], &l);
	}
}

/* Where the interpreter will write, if there is a file already. */
static bool has_foreign_map(struct python_switch *s, const struct procfs *procfs)
{
	struct reader_file file = { .fd = -1 };
	struct proc_status status;
	char path[64];
	int r = procfs_status(procfs, s->pid, &status);

	if (r < 0)
		return false;
	s->ns_pid = status.ns_pid;
	(void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)status.ns_pid);
	r = procfs_open_no_link(procfs, s->pid, path, &file);
	if (r < 0)
		return r == -ELOOP || r == -ENODEV;
	close(file.fd);
	return file.st.st_uid != status.euid || file.st.st_nlink != 1;
}

static enum python_outcome not_found(int result)
{
	switch (result) {
	case INTERPRETER_NONE:
		return PYTHON_NOT_PYTHON;
	case INTERPRETER_TOO_OLD:
		return PYTHON_TOO_OLD;
	case INTERPRETER_NO_TRAMPOLINE:
		return PYTHON_NO_TRAMPOLINE;
	case INTERPRETER_NO_SYMBOLS:
		return PYTHON_NO_SYMBOLS;
	case INTERPRETER_NO_CODE:
		return PYTHON_NO_CODE;
	case INTERPRETER_32_BIT:
		return PYTHON_IS_32_BIT;
	default:
		return outcome_of(result);
	}
}

/* What was found is worth something only if the process was the same before and after. */
static int find_twice(struct python_switch *s, const struct python_tools *tools)
{
	const struct procfs *procfs = tools->procfs;
	struct identity now;
	int r = interpreter_find(tools, s->pid, &s->in);

	if (r != INTERPRETER_FOUND)
		return r;
	r = identity_read_process(procfs, s->pid, &s->identity);
	if (r == 0)
		r = interpreter_find(tools, s->pid, &s->in);
	if (r == INTERPRETER_FOUND)
		r = identity_read_process(procfs, s->pid, &now);
	return r == 0 && !identity_is_same(&s->identity, &now) ? -EAGAIN : r;
}

static void find_interpreter(struct python_switch *s, const struct python_tools *tools)
{
	int r;

	forget_program(s);
	r = find_twice(s, tools);
	if (r == -EAGAIN) {
		s->outcome = PYTHON_NOT_UP;
		return;
	}
	s->has_interpreter = r == INTERPRETER_FOUND;
	if (!s->has_interpreter)
		settle(s, not_found(r));
	else if (has_foreign_map(s, tools->procfs))
		settle(s, PYTHON_FOREIGN_MAP);
	else
		s->outcome = PYTHON_NO_SAFE_POINT;
}

static void read_result(struct python_switch *s, const struct inject_page *data)
{
	switch ((enum inject_result)data->result) {
	case INJECT_PENDING:
		break;
	case INJECT_SWITCHED:
		s->is_on = s->op == INJECT_ACTIVATE;
		settle(s, PYTHON_SWITCHED);
		break;
	case INJECT_UNCHANGED:
		s->is_on = s->op == INJECT_ACTIVATE && data->was_switched_by_us;
		settle(s, s->is_on ? PYTHON_SWITCHED : PYTHON_ALREADY);
		break;
	case INJECT_CANCELLED:
		settle(s, PYTHON_BLOCKED);
		break;
	case INJECT_MISSING:
		settle(s, PYTHON_MISSING);
		break;
	case INJECT_FORKED:
		settle(s, PYTHON_FAILED);
		break;
	case INJECT_FOREIGN_MAP:
		settle(s, PYTHON_FOREIGN_MAP);
		break;
	case INJECT_REFUSED:
	default:
		settle(s, PYTHON_REFUSED);
		break;
	}
}

static void look_at_result(struct python_switch *s, const struct procfs *procfs)
{
	struct inject_page data;
	int r = python_page_read(s, procfs, &data);

	if (r == 0)
		read_result(s, &data);
	else if (r == -ENOENT)
		forget(s);
}

static void make_call(struct python_switch *s, const struct python_tools *tools)
{
	int r;

	if (!s->has_interpreter)
		find_interpreter(s, tools);
	r = s->page ? python_page_check(s, tools->procfs) : 0;
	if (r == -ENOENT)
		forget(s);
	else if (s->has_interpreter && identity_is_privileged(&s->identity))
		settle(s, PYTHON_PRIVILEGED);
	if (r == 0 && s->stage == PYTHON_WAITS && s->has_interpreter)
		visit_threads(s, tools);
}

void python_switch_step(struct python_switch *s, const struct python_tools *tools)
{
	if (s->stage == PYTHON_SETTLED)
		return;
	if (is_gone(s, tools->procfs))
		settle(s, PYTHON_GONE);
	else if (s->stage == PYTHON_IS_QUEUED)
		look_at_result(s, tools->procfs);
	else
		make_call(s, tools);
}

/* False: the call may have been cancelled, but has begun. */
static bool cancel(struct python_switch *s, const struct python_tools *tools)
{
	struct inject_page data;
	int r = python_page_cancel(s, tools);

	if (r == -EHOSTDOWN)
		note_failure(s, r);
	if (r < 0)
		return true;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (python_page_read(s, tools->procfs, &data) == 0) {
		if (data.is_started && data.result == INJECT_PENDING)
			return false;
		read_result(s, &data);
	}
	return true;
}

void python_switch_give_up(struct python_switch *s, const struct python_tools *tools)
{
	if (s->stage == PYTHON_IS_QUEUED && s->op == INJECT_ACTIVATE &&
	    !is_gone(s, tools->procfs) && !cancel(s, tools))
		return;
	if (s->stage == PYTHON_IS_QUEUED)
		settle(s, PYTHON_BLOCKED);
	else if (s->stage == PYTHON_WAITS)
		settle(s, s->outcome);
}

/* Whether no call of ours is queued or running. What a fork took along cannot be counted. */
static bool is_idle(const struct python_switch *s, const struct procfs *procfs)
{
	struct inject_page data;

	return !s->is_inherited && python_page_read(s, procfs, &data) == 0 &&
	       data.nr_done == s->nr_queued;
}

/* A thread in the interpreter's main loop has the GIL, with which alone our code runs: so it does
 * not run now. */
static void clean_by(const struct visit *v, pid_t tid)
{
	struct tracer *t = v->tools->tracer;
	struct python_switch *s = v->s;
	struct thread_view st;

	if (tracer_stop(t, s->pid, tid, v->end_ns, &st) == 0 &&
	    (st.must_restart || (!st.has_obstacle && is_in_eval_loop(s, &st))) &&
	    check_thread(v, tid, &st) && !st.has_obstacle && is_in_eval_loop(s, &st) &&
	    thread_look_has_stack(v->stacks, st.sp, STACK_BYTES))
		(void)python_page_unmap(s, t, clock_mono_ns() + CALLS_NS);
	tracer_let_go(t);
}

bool python_switch_clean(struct python_switch *s, const struct python_tools *tools)
{
	const struct procfs *procfs = tools->procfs;
	_cleanup_(freep) struct stacks *stacks = NULL;
	struct visit v = { .s = s, .tools = tools, .end_ns = clock_mono_ns() + STEP_NS };
	pid_t tids[THREAD_LOOK_MAX];
	struct thread_look l;
	uint32_t nr;

	if (!s->page || is_gone(s, procfs) || python_page_check(s, procfs) == -ENOENT)
		return true;
	v.stacks = stacks = is_idle(s, procfs) ? thread_look_stacks(procfs, s->pid) : NULL;
	nr = stacks ? thread_look_list(procfs, s->pid, tids) : 0;
	for (uint32_t i = 0; i < nr && s->page && clock_mono_ns() < v.end_ns; i++)
		if (thread_look_at(procfs, s->pid, tids[i], &l) == 0 && l.state == 'R' &&
		    may_stop(s, &l))
			clean_by(&v, tids[i]);
	return !s->page;
}

void python_switch_fork(struct python_switch *child, const struct procfs *procfs,
			const struct python_switch *parent)
{
	struct inject_page data = { 0 };
	struct proc_status status;

	if (identity_read_process(procfs, child->pid, &child->identity) < 0 ||
	    !identity_has_same_memory(&parent->identity, &child->identity)) {
		forget_program(child);
		return;
	}
	child->has_interpreter = parent->has_interpreter;
	child->in = parent->in;
	if (procfs_status(procfs, child->pid, &status) == 0)
		child->ns_pid = status.ns_pid;
	child->page = parent->page;
	if (python_page_check(child, procfs) < 0 || python_page_read(child, procfs, &data) < 0)
		child->page = 0;
	child->is_inherited = child->page != 0;
	child->is_on = child->page && data.was_switched_by_us;
}
