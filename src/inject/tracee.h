/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread of a target, stopped for a moment. All calls by the tracer process (tracer.h). Every wait
 * for the thread has a deadline; the kernel's own in these calls have none. If the tracer dies, the
 * kernel lets the thread continue.
 */
#ifndef INJECT_TRACEE_H
#define INJECT_TRACEE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/thread_state.h"

struct tracee {
	pid_t pid, tid;
	bool is_attached, is_stopped;
	bool has_executed; /* another program, while we traced it: nothing is done to that */
	struct thread_state state; /* as read last; valid while it is stopped */
};

/* Stops a thread of process pid. Whether it still is that thread is for the caller to check
 * (identity.h), before anything is done to it: what is
 * stopped executes nothing and keeps its ID, and all that is done to a tracee is done to that task or,
 * once it has ended, to none. -ESRCH: gone, or it executes another program; -EPERM: not permitted, or
 * traced by another; -EAGAIN: job control has stopped it; -ETIMEDOUT: it did not stop, and stays
 * attached. */
int tracee_stop(struct tracee *t, pid_t pid, pid_t tid, uint64_t deadline_ns);

/* Lets a thread whose state is THREAD_IN_TIMED_SYSCALL continue until the system call ends. */
int tracee_finish_syscall(struct tracee *t, uint64_t deadline_ns);

/* Makes the thread call, and waits until it has returned; its state is then as before. *ret_result:
 * of the (first) system call. A call that does not end in time is left to itself: -ETIMEDOUT. -EFAULT:
 * the stack cannot be written, or the call crashed and was abandoned. */
int tracee_call(struct tracee *t, const struct thread_call *call, uint64_t deadline_ns,
		long *ret_result);

/* Writes the memory of a stopped thread, code also. n is a multiple of 8. */
int tracee_poke(struct tracee *t, uint64_t addr, const void *bytes, size_t n);

/* Detaches. False: it runs, and is still attached; the end of the tracer detaches it. */
bool tracee_let_go(struct tracee *t);

#endif
