/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Time off the CPU, shared between kernel and user space. The kernel sums it up by stack; a stack
 * travels once, as the record of a sample without values, and is known by its ID from then on.
 */
#ifndef BPF_WAIT_H
#define BPF_WAIT_H

#include "abi.h"

/* What a thread does that is not on a CPU. */
enum pa_wait_state {
	PA_WAIT_SLEEP = 0,     /* until it is woken up; also stopped by a signal or a tracer */
	PA_WAIT_DISK = 1,      /* likewise, uninterruptible: state D of ps */
	PA_WAIT_RUNQUEUE = 2,  /* woken up, until it runs */
	PA_WAIT_PREEMPTED = 3, /* still runnable, until it runs again */
	PA_NR_WAIT_STATES = 4,
};

/* Fixed before the programs are loaded. */
struct pa_wait_config {
	__u64 min_ns;  /* shorter intervals are only counted */
	__u64 seed;    /* of the IDs, so that nobody can choose stacks with the same one */
	__u32 own_pid; /* the agent's, whose own switches would cause more of them */
	__u8 states;   /* those that are wanted: a bit per enum pa_wait_state */
	__u8 origin;   /* see enum pa_origin */
	__u8 pad[2];
};
_Static_assert(sizeof(struct pa_wait_config) == 24, "changed: bump PA_ABI_VERSION");

/* What became of an interval that was not even begun. */
enum pa_wait_loss {
	PA_WAIT_NOT_LOST = 0,
	PA_WAIT_RING_FULL = 1,
	PA_WAIT_RING_BUSY = 2,
	PA_WAIT_NESTED = 3,
	PA_WAIT_NO_ROOM = 4, /* for the thread */
	/* No losses: */
	PA_WAIT_HELPER = 5,    /* a process that reads for the agent */
	PA_WAIT_RAN = 6,       /* taken for one that waited before: in another state, at its end */
	PA_NR_WAIT_LOSSES = 8, /* a power of two, for masks */
};

/*
 * One per CPU. An interval begins when a task leaves its CPU, and another one when it is woken up if
 * PA_WAIT_RUNQUEUE is wanted. Each adds one to `intervals` before anything else is known of it, and
 * later to exactly one of the next seven, of lost[], or of the five that say how it ended; or it is
 * open when the capture ends. Nothing here is computed from the others.
 */
struct pa_wait_stats {
	__u64 intervals;
	__u64 not_delivered; /* by the kernel: another task runs than the last switch was to */
	__u64 idle;
	__u64 other;       /* not a target */
	__u64 outside;     /* no PID in the agent's namespace */
	__u64 own;         /* of the agent */
	__u64 exited;      /* left for good */
	__u64 other_state; /* not wanted */
	__u64 lost[PA_NR_WAIT_LOSSES];
	__u64 too_short;
	__u64 summed;    /* in the map of sums */
	__u64 submitted; /* a record of its own was written to the ring */
	__u64 end_lost;  /* the ring had no room for that */
	__u64 no_end;    /* it was not delivered, and is noticed when the next one begins */
	__u64 ended_ns;  /* how long `summed` and `submitted` were, together */
	__u64 waits_full; /* stacks that found no room in the map of sums: their intervals are sent */
	__u64 nr_singles;
	__u64 running; /* struct task_struct *: what the last switch was to */
};
_Static_assert(sizeof(struct pa_wait_stats) == 200, "changed: bump PA_ABI_VERSION");

/* A thread, since it has left a CPU for the first time. Only events of the thread itself change it,
 * and the scheduler's locks order those. */
struct pa_thread {
	__u64 since_ns; /* begin of the interval */
	__u64 wait;     /* the stack's ID */
	__u8 is_open;   /* off the CPU */
	__u8 state;     /* enum pa_wait_state */
	__u8 loss;      /* enum pa_wait_loss: its stack could not be sent */
	__u8 is_single; /* the interval is sent by itself, not summed up */
	__u32 pad;
};
_Static_assert(sizeof(struct pa_thread) == 24, "changed: bump PA_ABI_VERSION");

struct pa_wait_sum {
	__u64 nr;
	__u64 ns;
	__u64 max_ns;
};

/* All intervals of one thread in one stack. */
struct pa_wait {
	__u64 check; /* another hash of the same, in case two have one ID */
	struct pa_wait_sum sums[PA_NR_WAIT_STATES];
};
_Static_assert(sizeof(struct pa_wait) == 104, "changed: bump PA_ABI_VERSION");

/*
 * Whether a process that has `own` of all sums in the map may add another one: as many as half of what
 * is left. One that always waits in new stacks gets a third of the map, n of them a part of n + 2 each, and
 * there is always room for those that wait in few.
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
	(1ull << 62) /* with PA_WAIT_SINGLE: since before the begin; the rest is the TID */

/* A thread that was off the CPU before the capture began. */
#define PA_BLOCKED_KERNEL_FRAMES 64
struct pa_blocked {
	__u64 task; /* its key in the map of threads */
	__u64 wait; /* the ID */
	__u32 pid, tid;
	__u8 state;     /* enum pa_wait_state */
	__u8 has_regs;  /* it has a user stack, … */
	__u8 is_compat; /* … of a 32-bit program */
	__u8 pad;
	__s32 syscall_nr; /* if it is in one */
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
	struct pa_record head; /* time_ns is its end */
	__u64 wait;
	__u64 ns;
	__u8 state; /* enum pa_wait_state */
	__u8 origin;
	__u8 pad[6];
};
_Static_assert(sizeof(struct pa_wait_end) == 40, "changed: bump PA_ABI_VERSION");

#endif
