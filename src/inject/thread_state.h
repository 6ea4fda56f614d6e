/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registers of a stopped thread, and a call that it makes and returns from by itself. The call
 * runs on a signal frame that the agent builds as the kernel would: the function returns to
 * rt_sigreturn(), which restores every register, the floating-point and vector state, and the signal
 * mask. So the thread depends on the agent at no moment. One file per architecture.
 */
#ifndef INJECT_THREAD_STATE_H
#define INJECT_THREAD_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define THREAD_STATE_FP_BYTES 16384 /* of x86's xstate, with room for AMX */
/* Room for the call itself; _PyEval_AddPendingCall() needs a few hundred bytes, the dynamic linker
 * (first calls are bound lazily, with the vector state saved) less than 4 KiB. */
#define THREAD_STATE_CALL_BYTES 16384

enum thread_place {
	THREAD_IN_USER_CODE,
	THREAD_IN_SYSCALL, /* the system call has ended, or is restarted exactly by executing it again */
	/* Only the kernel can continue the system call (it sleeps for the rest of a time): a call
	 * now would end it with EINTR. */
	THREAD_IN_TIMED_SYSCALL,
};

struct thread_state {
	struct user_regs_struct regs; /* with which the thread continues */
	uint64_t pc, sp;
	enum thread_place place;
	/* In a system call: its number, and its first argument; 0: not known. */
	long syscall_nr;
	uint64_t syscall_arg;
	const char
		*obstacle; /* static text: why there can be no call, such as a shadow stack; NULL */
	uint64_t sigmask;
	/* the stop has ended a system call with EINTR: it is restarted exactly with `regs` alone */
	bool must_restart;
	size_t fp_bytes;
	_Alignas(64) uint8_t fp[THREAD_STATE_FP_BYTES];
};

/* What of it tells whether and what the thread can be made to call. */
struct thread_view {
	uint64_t pc, sp, sigmask;
	enum thread_place place;
	long syscall_nr;
	uint64_t syscall_arg;
	bool has_obstacle, must_restart;
};

/* What the thread is made to call: a function, or (is_syscall) the system call args[0] … by the
 * code at `function`, a system call instruction and a return. */
struct thread_call {
	uint64_t function;
	uint64_t args[6];
	bool is_syscall;
	long syscall_nr;
	uint64_t sigreturn; /* code that calls rt_sigreturn() */
};

/* The thread must be in a ptrace-stop. Changes nothing in it. */
int thread_state_read(pid_t tid, struct thread_state *ret_state);

struct thread_frame {
	uint64_t addr;   /* where its bytes belong: on the thread's stack, below all it uses */
	size_t nr_bytes; /* a multiple of 8 */
	struct user_regs_struct regs; /* with which the call begins */
	uint8_t bytes[THREAD_STATE_FP_BYTES + 8192];
};
void thread_state_frame(const struct thread_state *st, const struct thread_call *call,
			struct thread_frame *ret_frame);

int thread_state_set_regs(pid_t tid, const struct user_regs_struct *regs);
/* Abandons a call half-way: the thread returns from the frame at once. */
int thread_state_abandon(pid_t tid, const struct thread_frame *frame, uint64_t sigreturn);

/* True if a system call that the thread waits in would end with EINTR when the thread is stopped,
 * and could not be restarted exactly. */
bool thread_syscall_is_fragile(long nr, const uint64_t args[6]);

/* Byte patterns: a system call instruction followed by a return, and a call of rt_sigreturn(). */
struct code_pattern {
	const uint8_t *bytes;
	size_t n;
	size_t align;
};
extern const struct code_pattern thread_syscall_code, thread_sigreturn_code;

#endif
