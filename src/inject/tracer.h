/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stops threads of targets and changes them, by a process that can be abandoned (proc/worker.h),
 * because a target can keep whoever does that waiting for ever: it may execute a file of a file
 * system that does not answer, or have the memory there that is written to. One thread at a time.
 * When the process ends, for whatever reason, the kernel lets the thread go.
 *
 * All calls by one thread. Errors of all calls, besides their own: -EHOSTDOWN: no answer, the
 * process was killed and abandoned; -ECONNRESET: somebody else has killed it; -EAGAIN, -ENOMEM …:
 * none could be made.
 */
#ifndef INJECT_TRACER_H
#define INJECT_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "inject/thread_state.h"

struct tracer;

/* proc_fd: a descriptor of procfs. over: when requested, nothing that does not answer at once is waited
 * for; borrowed until tracer_free(); NULL: never. The first process is made here, while the caller is
 * small. */
int tracer_new(int proc_fd, const struct cancel *over, struct tracer **ret_tracer);
struct tracer *tracer_free(struct tracer *t);
DEFINE_CLEANUP(struct tracer *, tracer_free)

/* Stops thread tid of process pid and reads its state, but changes nothing in it. See tracee_stop();
 * whatever becomes of it, tracer_let_go() follows. All that is between changes the thread: the caller
 * has checked before that it is still the one that was meant (identity.h), for what is stopped
 * executes nothing. */
int tracer_stop(struct tracer *t, pid_t pid, pid_t tid, uint64_t deadline_ns,
		struct thread_view *ret_view);

/* Undoes the end of a system call that the stop has caused (must_restart). */
int tracer_restart(struct tracer *t);

/* As tracee_finish_syscall(); then the thread has run, and is to be checked again. */
int tracer_finish_syscall(struct tracer *t, uint64_t deadline_ns, struct thread_view *ret_view);

/* As tracee_call() and tracee_poke(), n at most TRACER_POKE_BYTES. */
#define TRACER_POKE_BYTES 4096
int tracer_call(struct tracer *t, const struct thread_call *call, uint64_t deadline_ns,
		long *ret_result);
int tracer_poke(struct tracer *t, uint64_t addr, const void *bytes, size_t n);

/* Lets the thread go. One that has not stopped in time is let go by the end of the process. */
void tracer_let_go(struct tracer *t);

/* In two steps, so that the process can be checked in between: what is opened stays bound to the
 * memory that it has now, even if it executes another program. */
int tracer_open_memory(struct tracer *t, pid_t pid);
int tracer_write_memory(struct tracer *t, uint64_t addr, uint32_t value);

/* 1: the processes have the same memory; 0: they do not. */
int tracer_shares_memory(struct tracer *t, pid_t a, pid_t b);

struct tracer_stats {
	uint32_t nr_abandoned, nr_killed; /* by us, because they did not answer; by somebody else */
};
struct tracer_stats tracer_stats(const struct tracer *t);

/* For tests: the process; 0: none. */
pid_t tracer_pid(const struct tracer *t);

#endif
