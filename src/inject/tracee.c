/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/tracee.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"

#define SYSCALL_STOP (SIGTRAP | 0x80) /* with PTRACE_O_TRACESYSGOOD */
#define LOOK_EVERY_NS 20000
#define MAX_STOPS 256 /* of one call: it makes a few system calls at most */

/* 1 and the status if there is one; 0; or a negative errno. */
static int take_status(const struct tracee *t, int *ret_status)
{
	pid_t r = waitpid(t->tid, ret_status, __WALL | WNOHANG);

	if (r < 0)
		return errno == EINTR ? 0 : -ESRCH;
	return r == t->tid;
}

/* The thread is gone. If it executes a program it goes on under the ID of the process. */
static int follow_exec(struct tracee *t)
{
	if (t->tid != t->pid && ptrace(PTRACE_INTERRUPT, t->pid, NULL, NULL) == 0) {
		t->tid = t->pid;
		t->has_executed = true;
		return 0;
	}
	t->is_attached = false;
	return -ESRCH;
}

/* A negative errno, or the status of a stop. */
static int wait_stop(struct tracee *t, uint64_t deadline_ns)
{
	const struct timespec nap = { .tv_nsec = LOOK_EVERY_NS };
	int status;

	for (;;) {
		int r = take_status(t, &status);

		if (r < 0)
			r = follow_exec(t);
		if (r < 0)
			return r;
		if (r > 0)
			break;
		if (clock_mono_ns() > deadline_ns)
			return -ETIMEDOUT;
		nanosleep(&nap, NULL);
	}
	t->is_stopped = WIFSTOPPED(status);
	t->is_attached = t->is_stopped;
	if (t->is_stopped && status >> 16 == PTRACE_EVENT_EXEC)
		t->has_executed = true;
	return t->is_stopped && !t->has_executed ? status : -ESRCH;
}

static int resume(struct tracee *t, int request, int signal_nr)
{
	t->is_stopped = false;
	if (ptrace(request, t->tid, NULL, signal_nr) == 0)
		return 0;
	t->is_attached = false;
	return -errno;
}

static bool is_job_control(int signal_nr)
{
	return signal_nr == SIGSTOP || signal_nr == SIGTSTP || signal_nr == SIGTTIN ||
	       signal_nr == SIGTTOU;
}

/* The signal that a stop is about, which is still to be delivered; 0: none. */
static int pending_signal(int status)
{
	return status < 0 || status >> 16 || WSTOPSIG(status) == SYSCALL_STOP ? 0
									      : WSTOPSIG(status);
}

/* Waits for the stop that was asked for; signals that come before it are delivered. */
static int wait_interrupted(struct tracee *t, uint64_t deadline_ns)
{
	for (int i = 0; i < MAX_STOPS; i++) {
		int status = wait_stop(t, deadline_ns), r;

		if (status < 0)
			return status;
		if (status >> 16 == PTRACE_EVENT_STOP)
			return is_job_control(WSTOPSIG(status)) ? -EAGAIN : 0;
		r = resume(t, PTRACE_CONT, pending_signal(status));
		if (r < 0)
			return r;
	}
	return -ETIMEDOUT;
}

int tracee_stop(struct tracee *t, pid_t pid, pid_t tid, uint64_t deadline_ns)
{
	int r;

	t->pid = pid;
	t->tid = tid;
	t->is_attached = t->is_stopped = t->has_executed = false;
	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC)) <
	    0)
		return -errno;
	t->is_attached = true;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0) {
		r = -errno;
		t->is_attached = false; /* it has just exited */
		return r;
	}
	return wait_interrupted(t, deadline_ns);
}

/* The kernel detaches only a thread that is stopped. */
bool tracee_let_go(struct tracee *t)
{
	int signal_nr = 0;

	if (t->is_attached && !t->is_stopped)
		signal_nr = pending_signal(wait_stop(t, 0));
	if (t->is_attached &&
	    (ptrace(PTRACE_DETACH, t->tid, NULL, signal_nr) == 0 || t->is_stopped))
		t->is_attached = false; /* it fails for a thread that was killed */
	return !t->is_attached;
}

/* The thread runs and is wanted stopped. */
static int interrupt(struct tracee *t, uint64_t deadline_ns)
{
	if (ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL) < 0)
		return -errno;
	return wait_interrupted(t, deadline_ns);
}

/* Continues to the next entry into or return from a system call. A signal is delivered; one that a
 * fault has caused is returned instead. */
static int next_syscall_stop(struct tracee *t, uint64_t deadline_ns, int *ret_fault)
{
	int signal_nr = 0;

	for (int i = 0; i < MAX_STOPS; i++) {
		int r = resume(t, PTRACE_SYSCALL, signal_nr);
		int status = r < 0 ? r : wait_stop(t, deadline_ns);

		signal_nr = 0;
		*ret_fault = 0;
		if (status < 0)
			return status;
		if (WSTOPSIG(status) == SYSCALL_STOP)
			return 0;
		if (status >> 16)
			continue;
		signal_nr = WSTOPSIG(status);
		if (signal_nr == SIGSEGV || signal_nr == SIGBUS || signal_nr == SIGILL ||
		    signal_nr == SIGFPE || signal_nr == SIGTRAP) {
			*ret_fault = signal_nr;
			return 0;
		}
	}
	return -ETIMEDOUT;
}

#define GRACE_NS (50 * NS_PER_MS) /* for a thread that runs to stop */

int tracee_finish_syscall(struct tracee *t, uint64_t deadline_ns)
{
	for (int i = 0; i < MAX_STOPS; i++) {
		struct __ptrace_syscall_info info = { .op = PTRACE_SYSCALL_INFO_NONE };
		int fault, r = next_syscall_stop(t, deadline_ns, &fault);

		if (r == 0 && fault) { /* not ours: it is the program's own */
			r = resume(t, PTRACE_CONT, fault);
			return r < 0 ? r : -EAGAIN;
		}
		if (r == -ETIMEDOUT) {
			(void)interrupt(t, clock_mono_ns() + GRACE_NS);
			return -ETIMEDOUT;
		}
		if (r < 0)
			return r;
		(void)ptrace(PTRACE_GET_SYSCALL_INFO, t->tid, sizeof(info), &info);
		if (info.op != PTRACE_SYSCALL_INFO_EXIT)
			continue;
		r = thread_state_read(t->tid, &t->state);
		if (r < 0 || t->state.place != THREAD_IN_TIMED_SYSCALL)
			return r;
	}
	return -ETIMEDOUT;
}

/* All but the signals that faults cause: a handler could leave the call by a jump. */
static void block_signals(pid_t tid)
{
	uint64_t set = ~0ull;

	set &= ~(1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGILL - 1) |
		 1ull << (SIGFPE - 1) | 1ull << (SIGTRAP - 1));
	(void)ptrace(PTRACE_SETSIGMASK, tid, sizeof(set), &set);
}

int tracee_poke(struct tracee *t, uint64_t addr, const void *bytes, size_t n)
{
	const uint8_t *from = bytes;

	for (size_t i = 0; i < n; i += 8) {
		uint64_t word;

		memcpy(&word, from + i, sizeof(word));
		if (ptrace(PTRACE_POKEDATA, t->tid, addr + i, word) < 0)
			return -errno;
	}
	return 0;
}

static int write_stack(struct tracee *t, const struct thread_frame *f)
{
	int r = tracee_poke(t, f->addr, f->bytes, f->nr_bytes);

	return r < 0 && r != -ESRCH ? -EFAULT : r;
}

/* Follows the call until rt_sigreturn() has restored everything. */
static int await_return(struct tracee *t, const struct thread_frame *f,
			const struct thread_call *call, uint64_t deadline_ns, long *ret_result)
{
	bool has_result = false, is_returning = false;
	int crashed = 0;

	for (int i = 0; i < MAX_STOPS; i++) {
		struct __ptrace_syscall_info info = { .op = PTRACE_SYSCALL_INFO_NONE };
		int fault, r = next_syscall_stop(t, deadline_ns, &fault);

		if (r < 0)
			return r;
		if (fault) {
			crashed = -EFAULT;
			(void)thread_state_abandon(t->tid, f, call->sigreturn);
			continue;
		}
		(void)ptrace(PTRACE_GET_SYSCALL_INFO, t->tid, sizeof(info), &info);
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
			is_returning = info.entry.nr == SYS_rt_sigreturn;
		} else if (info.op == PTRACE_SYSCALL_INFO_EXIT && is_returning) {
			return crashed;
		} else if (info.op == PTRACE_SYSCALL_INFO_EXIT && !has_result) {
			has_result = true;
			*ret_result = (long)info.exit.rval;
		}
	}
	return -ETIMEDOUT;
}

int tracee_call(struct tracee *t, const struct thread_call *call, uint64_t deadline_ns,
		long *ret_result)
{
	struct thread_frame f;
	int r;

	*ret_result = 0;
	thread_state_frame(&t->state, call, &f);
	r = write_stack(t, &f);
	/* In this order: if the agent dies in between, the call runs without blocking signals, and
	 * returns with the right mask. */
	if (r == 0)
		r = thread_state_set_regs(t->tid, &f.regs);
	if (r < 0)
		return r;
	block_signals(t->tid);
	r = await_return(t, &f, call, deadline_ns, ret_result);
	if (r == -ETIMEDOUT)
		(void)interrupt(t, clock_mono_ns() + GRACE_NS);
	else if (r == 0)
		r = thread_state_read(t->tid, &t->state);
	return r;
}
