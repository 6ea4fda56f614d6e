/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sample as a value: time, CPU, task, values and stack, independent of the trigger that took
 * it. Sinks receive it (sample/sink.h). All pointers are borrowed for the duration of the call.
 */
#ifndef SAMPLE_SAMPLE_H
#define SAMPLE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SAMPLE_MAX_VALUES 8
#define SAMPLE_NO_USER UINT32_MAX

struct cgroup;     /* proc/cgroups.h */
struct frame_type; /* sample/frame_type.h */
struct mapping;    /* proc/tracker.h */
struct process;    /* proc/tracker.h */

enum frame_kind {
	FRAME_KERNEL,
	FRAME_NATIVE, /* code of a mapped file, the vDSO, or unknown memory */
	FRAME_JIT,    /* code generated at run time */
	FRAME_TYPED,  /* no machine code: see its type */
	NR_FRAME_KINDS
};

/* Leaf first. A frame's address lies inside the instruction that ran, or inside the call
 * instruction, never after it. */
struct frame {
	enum frame_kind kind;
	uint64_t address;
	uint64_t pc;                   /* as unwound: the return address of a caller */
	uint64_t aux[2];               /* for FRAME_TYPED; 0 if unused */
	const struct frame_type *type; /* for FRAME_TYPED */
	const struct mapping *mapping; /* of the process; NULL: kernel code, or unknown */
};

struct sample {
	uint8_t origin; /* number of the trigger */
	/* ID of a stack whose values are delivered separately (sample/wait_sum.h); 0: none */
	uint64_t wait;
	/* the system call that the thread is in, of this architecture; -1: none, or unknown */
	int syscall_nr;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t cpu;
	pid_t pid, tid; /* in the agent's PID namespace */
	/* of cgroup v2: the inode of its directory; 0: not requested */
	uint64_t cgroup_id;
	const struct cgroup *cgroup; /* NULL: unknown */
	pid_t ns_pid;       /* of the process in its own, innermost PID namespace; 0: unknown */
	const char *comm;   /* of the process; at most comm_bytes, possibly without a NUL */
	const char *thread; /* of the thread; at most as long, possibly without a NUL */
	size_t comm_bytes;
	const struct process *process; /* NULL: a kernel task, or unknown */
	uint64_t program;              /* see process_program(); 0: unknown */
	/* the user who runs it, if all its user IDs agree; otherwise SAMPLE_NO_USER */
	uint32_t user;

	/* [0]: the number of events that the sample stands for; the trigger defines the others. */
	int64_t values[SAMPLE_MAX_VALUES];
	uint32_t nr_values;

	const struct frame *frames;
	uint32_t nr_frames;
	uint8_t stop; /* enum pa_stop: how unwinding the user stack ended */
	bool is_in_kernel;
	bool was_walked_again; /* user space has finished the walk, on a copy of the stack */
	/* user space has finished the walk, and reached the outermost frame */
	bool is_finished;
};

#endif
