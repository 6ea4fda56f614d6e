/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Off-CPU time, shared between kernel and user space. The kernel sums it up by stack. A stack is
 * sent once, as the record of a sample without values, and is referred to by its ID from then on.
 */
#ifndef BPF_WAIT_H
#define BPF_WAIT_H

#include "abi.h"

/* What a thread does while it is off the CPU. */
enum pa_wait_state {
	PA_WAIT_SLEEP = 0,     /* until it is woken up; also stopped by a signal or a tracer */
	PA_WAIT_DISK = 1,      /* an uninterruptible sleep (state D of ps), until it is woken up */
	PA_WAIT_RUNQUEUE = 2,  /* woken up, until it runs */
	PA_WAIT_PREEMPTED = 3, /* still runnable, until it runs again */
	PA_NR_WAIT_STATES = 4,
};

/* Fixed before the programs are loaded. */
struct pa_wait_config {
	__u64 min_ns;  /* shorter intervals are only counted */
	__u64 seed;    /* of the IDs, so that nobody can construct stacks with equal IDs */
	__u32 own_pid; /* the agent, whose own switches would cause more of them */
	__u8 states;   /* the states that are recorded: a bit per enum pa_wait_state */
	__u8 origin;   /* see enum pa_origin */
	__u8 pad[2];
};
_Static_assert(sizeof(struct pa_wait_config) == 24, "changed: bump PA_ABI_VERSION");

/* Why an interval is not recorded. */
enum pa_wait_loss {
	PA_WAIT_NOT_LOST = 0,
	PA_WAIT_RING_FULL = 1,
	PA_WAIT_RING_BUSY = 2,
	PA_WAIT_NESTED = 3,
	PA_WAIT_NO_ROOM = 4, /* no room for the thread */
	/* Not losses: */
	PA_WAIT_HELPER = 5,    /* a process that reads for the agent */
	PA_WAIT_RAN = 6,       /* seemed to wait before the capture, but was in another state */
	PA_NR_WAIT_LOSSES = 8, /* a power of two, for masks */
};

/*
 * One per CPU. An interval begins when a task leaves its CPU; a second one begins at the wake-up if
 * PA_WAIT_RUNQUEUE is wanted. Each interval adds one to `intervals` first, and later to exactly one
 * of the next seven counters, of lost[], or of the five that state how it ended; otherwise it is
 * open when the capture ends. None of the counters is computed from others.
 */
struct pa_wait_stats {
	__u64 intervals;
	__u64 not_delivered; /* by the kernel: prev is not the task of the last switch */
	__u64 idle;
	__u64 other;       /* not a target */
	__u64 outside;     /* no PID in the agent's namespace */
	__u64 own;         /* the agent */
	__u64 exited;      /* the task has exited */
	__u64 other_state; /* its state is not recorded */
	__u64 lost[PA_NR_WAIT_LOSSES];
	__u64 too_short;
	__u64 summed;    /* added to the map of sums */
	__u64 submitted; /* sent to the ring as a record */
	__u64 end_lost;  /* could not be sent: the ring was full */
	__u64 no_end;    /* its end was not reported, which is noticed when the next one begins */
	__u64 ended_ns;  /* total length of `summed` and `submitted` */
	/* stacks for which the map of sums had no room: their intervals are sent */
	__u64 waits_full;
	__u64 nr_singles;
	__u64 running; /* struct task_struct *: the task of the last switch */
};
_Static_assert(sizeof(struct pa_wait_stats) == 200, "changed: bump PA_ABI_VERSION");

/* A thread, from the first time it leaves a CPU. Only events of the thread itself change the entry,
 * and the scheduler's locks order those. */
struct pa_thread {
	__u64 since_ns; /* begin of the interval */
	__u64 wait;     /* the stack's ID */
	__u8 is_open;   /* it is off the CPU */
	__u8 state;     /* enum pa_wait_state */
	__u8 loss;      /* enum pa_wait_loss: why the stack was not sent */
	__u8 is_single; /* the interval is sent as a record, not summed up */
	__u32 pad;
};
_Static_assert(sizeof(struct pa_thread) == 24, "changed: bump PA_ABI_VERSION");

struct pa_wait_sum {
	__u64 nr;
	__u64 ns;
	__u64 max_ns;
};

/* The sums of all intervals of one thread with one stack. */
struct pa_wait {
	__u64 check; /* a second hash, in case two stacks have one ID */
	struct pa_wait_sum sums[PA_NR_WAIT_STATES];
};
_Static_assert(sizeof(struct pa_wait) == 104, "changed: bump PA_ABI_VERSION");

/*
 * Whether a process that has `own` of all sums in the map may add another: it may have up to half
 * of what is left. One process whose stacks are always new gets a third of the map, and n such
 * processes get 1 / (n + 2) of it each, so there is always room for processes that wait in few
 * stacks.
 */
#define PA_MAX_WAITS 65536
PA_INLINE _Bool pa_has_wait_room(__u64 own, __u64 all)
{
	return all < PA_MAX_WAITS && own < (PA_MAX_WAITS - all + 1) / 2;
}

/* IDs of stacks that are not summed up. With PA_WAIT_SINGLE each is used once. */
#define PA_WAIT_SINGLE (1ull << 63)
#define PA_WAIT_SINGLE_CPU_SHIFT 44
#define PA_WAIT_UNSUMMED                                                                           \
	(1ull << 61) /* of a stack that found no room in the map of sums: used whenever it comes */
#define PA_WAIT_BEFORE                                                                             \
	(1ull << 62) /* with PA_WAIT_SINGLE: waiting since before the begin; the rest is the TID */

/* A thread that was off the CPU before the capture began. */
#define PA_BLOCKED_KERNEL_FRAMES 64
struct pa_blocked {
	__u64 task; /* its key in the map of threads */
	__u64 wait; /* the stack's ID */
	__u32 pid, tid;
	__u8 state;     /* enum pa_wait_state */
	__u8 has_regs;  /* it has a user stack */
	__u8 is_compat; /* of a 32-bit program */
	__u8 pad;
	__s32 syscall_nr; /* the system call it is in, otherwise negative */
	char comm[PA_COMM_SIZE], thread[PA_COMM_SIZE];
	__u64 pc, sp, fp, lr;
	__u64 stack_end; /* 0: unknown */
	__u64 regs[32];  /* by DWARF number */
	__u32 nr_kernel, pad2;
	__u64 kernel[PA_BLOCKED_KERNEL_FRAMES];
};
_Static_assert(sizeof(struct pa_blocked) == 880, "changed: bump PA_ABI_VERSION");

/* PA_RECORD_WAIT: one interval. */
struct pa_wait_end {
	struct pa_record head; /* time_ns is the end of the interval */
	__u64 wait;
	__u64 ns;
	__u8 state; /* enum pa_wait_state */
	__u8 origin;
	__u8 pad[6];
};
_Static_assert(sizeof(struct pa_wait_end) == 40, "changed: bump PA_ABI_VERSION");

#endif
