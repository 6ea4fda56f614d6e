/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Everything shared between kernel and user space. Two compilers read it, so every struct states
 * its size. PIDs are those of the agent's own PID namespace.
 */
#ifndef BPF_ABI_H
#define BPF_ABI_H

#ifdef __bpf__
#include "vmlinux.h"
#else
#include <linux/types.h>
#endif

#define PA_ABI_VERSION 11

#define PA_INLINE static inline __attribute__((always_inline))

#define PA_COMM_SIZE 16          /* TASK_COMM_LEN */
#define PA_MAX_USER_FRAMES 512   /* 8 % of clang's stacks are deeper than 127 */
#define PA_MAX_KERNEL_FRAMES 127 /* kernel.perf_event_max_stack, as shipped */
#define PA_MAX_VALUES 7          /* per sample */
#define PA_WORD_SLOTS 1024       /* room for all words of a sample; a power of two, for masks */
_Static_assert(PA_MAX_VALUES + PA_MAX_KERNEL_FRAMES + PA_MAX_USER_FRAMES <= PA_WORD_SLOTS,
	       "a sample must fit");

/*
 * A user frame is one to three words. The first is an address, with its kind in bits 58 to 62,
 * which user addresses do not use; the kind determines how many auxiliary words follow: none for
 * kinds 0 to 7, one for 8 to 15, two for 16 to 31 (an interpreter's frame: pointer, position,
 * check).
 */
#define PA_FRAME_KIND_SHIFT 58
#define PA_FRAME_KIND(word) ((__u32)((word) >> PA_FRAME_KIND_SHIFT) & 31)
#define PA_FRAME_ADDR(word) ((word) & ((1ull << PA_FRAME_KIND_SHIFT) - 1))
#define PA_FRAME_WORDS(kind) (1u + ((kind) >= 8) + ((kind) >= 16))

enum pa_frame_kind {
	PA_FRAME_NATIVE = 0, /* machine code, of a file or generated */
};

/* On the first word of a user frame: the pc is exact (the sampled one, one that a signal
 * interrupted, or where a signal handler returns to), not a return address. */
#define PA_PC_EXACT (1ull << 63)

enum pa_stop {
#define X(name, value, machine, text, advice) PA_STOP_##name = value,
#include "stop_reasons.def"
#undef X
	PA_NR_STOPS
};

/* A bit per value of enum pa_stop: samples of tasks that have no user stack, that is kernel threads
 * and tasks inside execve() or exit. */
#define PA_STOPS_WITHOUT_STACK (1u << PA_STOP_KERNEL | 1u << PA_STOP_NO_MM | 1u << PA_STOP_EXEC)
_Static_assert(PA_NR_STOPS <= 32, "a bit per stop");

/* How targets are chosen. Processes and threads are listed in the target map. The user and the
 * cgroup of the running task are compared at every sample, so that a task counts from the moment it
 * joins until it leaves. */
enum pa_select {
	PA_SELECT_PIDS = 0,
	PA_SELECT_ALL = 1,
	PA_SELECT_TIDS = 2,
	PA_SELECT_USER = 3,   /* the effective user ID, as ps shows it */
	PA_SELECT_CGROUP = 4, /* of cgroup v2: the task is in it or below */
};

/* The state of an entry of the target map; PA_TARGET_CPU may be added to either. */
enum pa_target_state {
	PA_TARGET_ON = 1,
	PA_TARGET_AT_EXEC = 2, /* becomes ON with its next execve() */
};
#define PA_TARGET_CPU 4u /* its CPU time is counted when it ends */

/* Fixed before the programs are loaded, so that the verifier removes what is disabled. */
struct pa_config {
	__u32 pidns_inum;      /* of the agent's PID namespace */
	__u8 pidns_is_initial; /* the kernel's PIDs are the agent's: nothing is translated */
	__u8 select;           /* enum pa_select */
	__u8 follow_children;
	__u8 kernel_stacks;
	__u32 thread_size; /* size of a kernel stack; for kernels without bpf_task_pt_regs() */
	__u32 kernel_task_flags; /* bits of task->flags that mark kernel threads and workers */
	__u8 use_tables;         /* otherwise only frame pointers are used */
	__u8 cgroup_ids;         /* samples carry their cgroup ID; otherwise it is 0 */
	__u8 state_source;       /* enum pa_state_source */
	__u8 pad;
	__u32 uid;       /* for PA_SELECT_USER; in the initial user namespace */
	__u64 cgroup_id; /* for PA_SELECT_CGROUP: the inode of its directory */
};
_Static_assert(sizeof(struct pa_config) == 32, "changed: bump PA_ABI_VERSION");

/*
 * One per CPU. Every run of the sampling program adds one to `ticks` and to exactly one of the
 * seven counters from `submitted` on. Those of most ticks share a cache line.
 */
struct pa_tick_stats {
	__u64 ticks;
	__u64 weight;    /* sum of the sample periods of all ticks */
	__u64 submitted; /* a record was written to the ring */
	__u64 idle;
	__u64 other;   /* not a target */
	__u64 outside; /* no PID in the agent's namespace */
	__u64 ring_full;
	__u64 ring_busy; /* in an NMI, while the lock of the ring was held */
	__u64 nested;    /* a sample interrupted more contexts than PA_MAX_NESTING */
};
_Static_assert(sizeof(struct pa_tick_stats) == 72, "changed: bump PA_ABI_VERSION");

/* Counters of the process programs: one set for the machine, incremented atomically. They have a
 * section of their own, which all BPF objects of a session share. */
#define PA_SHARED ".data.shared"
struct pa_proc_stats {
	__u64 nr_targets;   /* in the target map now */
	__u64 targets_lost; /* a child could not be added: the map was full */
	__u64 notices_lost; /* the ring was full; costs latency only */
	__s64 stack_budget; /* bytes of stacks that may still be copied; user space refills it */
	__u64 counts_cpu;   /* set by user space: processes forked from now on get PA_TARGET_CPU */
	/* CPU time over the whole life of exited targets that had PA_TARGET_CPU */
	__u64 ended_cpu_ns;
	__u64 ended_lost; /* exited targets for which the map of ended targets was full */
	__u64 waits_on;   /* set by user space: when off-CPU accounting began; 0: it is off */
	__u64 times_begin,
		times_end; /* set by user space: when thread times begin and end; 0: not yet */
};
_Static_assert(sizeof(struct pa_proc_stats) == 80, "changed: bump PA_ABI_VERSION");

enum pa_record_type {
	PA_RECORD_SAMPLE = 1,
	PA_RECORD_NOTICE = 2,    /* read this process now, it may be gone soon */
	PA_RECORD_LAST_EXIT = 3, /* no target is left */
	PA_RECORD_STACK = 4,     /* struct pa_stack_page */
	PA_RECORD_EXEC = 5,      /* the process has called execve(): read it now, as for a notice */
	PA_RECORD_STACK_END = 6, /* struct pa_stack_end */
	PA_RECORD_WAIT = 7,      /* struct pa_wait_end, wait.h */
};

/* Where sched_switch reports the state of the task that leaves its CPU. */
enum pa_state_source {
	PA_STATE_OF_TASK = 0, /* nowhere: before 5.18 */
	PA_STATE_ARG = 1,     /* in its fourth argument */
	/* Until 6.14: in the fourth argument, which also reports a sleep if a signal has kept the
	 * task from sleeping. The task's own state is 0 then; that of a task which does sleep is
	 * not 0 before the switch is over, even if the task is woken up. */
	PA_STATE_ARG_UNSURE = 2,
};

struct pa_record {
	__u32 type; /* enum pa_record_type */
	__u32 pid;
	__u64 time_ns; /* CLOCK_MONOTONIC */
};
_Static_assert(sizeof(struct pa_record) == 16, "changed: bump PA_ABI_VERSION");

enum pa_sample_flags {
	PA_SAMPLE_IN_KERNEL = 1,   /* the CPU was in kernel mode */
	PA_SAMPLE_KERNEL_TASK = 2, /* a kernel thread or io worker */
	PA_SAMPLE_UNFINISHED =
		4, /* registers follow the frames, and pages of the stack follow the record */
	PA_SAMPLE_IN_SYSCALL = 8, /* the user pc is after the instruction that made a system call */
	PA_SAMPLE_WAIT = 16, /* its value is the ID of the stack; the time follows later (wait.h) */
};

/* Sizes of maps that both sides use; powers of two. */
#define PA_SHARD_ROWS 524288u /* 2 MiB */
#define PA_MAX_SHARDS 256u
#define PA_CACHED_RULES 4096u /* per CPU */
#define PA_CACHE_INDEX_SLOTS 8192u

#define PA_CODE_BYTES 16 /* pa_record_at() examines at most half of it, before or after the pc */

/* How many samples may be in progress on one CPU at the same time, each interrupting the previous
 * one: task, softirq, interrupt, NMI. */
#define PA_MAX_NESTING 4
#define PA_SERIAL_LEVEL_MASK (PA_MAX_NESTING - 1) /* of pa_sample.serial */

/* Where a Go thread left its other stacks, as stored by Go's runtime. */
struct pa_go {
	__u64 m;          /* the runtime.m of the thread; 0: not known to be a Go thread */
	__u64 g, end;     /* the current goroutine, and the end of its stack; 0: none */
	__u64 pc, sp, fp; /* where the goroutine was left */
	__u64 own_sp;     /* where the thread's own stack was left; 0: unknown */
};

/* A walk that user space can finish: the sampled registers follow the frames; the stack comes page
 * by page in separate records, which carry the CPU and serial of their sample, before the next
 * sample of that CPU and level. */
struct pa_stack_regs {
	__u64 pc, sp, lr;
	__u64 regs[32]; /* by DWARF number */
	struct pa_go go;
	__u8 code[PA_CODE_BYTES]; /* half before pc, half from pc on; as code.h reads it */
};
_Static_assert(sizeof(struct pa_stack_regs) == 352, "changed: bump PA_ABI_VERSION");

#define PA_STACK_MAX_PAGES 32 /* 128 KiB: 99.5 % of clang's stacks fit 108 KiB */
#define PA_STACK_PAGE_BYTES 4096u
#define PA_STACK_MAX_BYTES (PA_STACK_MAX_PAGES * PA_STACK_PAGE_BYTES)

#define PA_RED_ZONE_BYTES 128 /* below sp, used by leaf functions: x86-64 ABI, 3.2.2 */

struct pa_stack_page {
	struct pa_record head; /* time_ns is the sample's */
	__u64 addr;
	__u32 cpu;
	__u32 serial;
	__u32 size; /* bytes that follow */
	__u32 pad;
	char bytes[];
};
_Static_assert(sizeof(struct pa_stack_page) == 40, "changed: bump PA_ABI_VERSION");

/* After the last page. A missing one means that the ring was full. */
struct pa_stack_end {
	struct pa_record head; /* time_ns is the sample's */
	__u32 cpu;
	__u32 serial;
	__u32 stop; /* enum pa_stop: for a walk that needs more than was copied */
	__u32 pad;
};
_Static_assert(sizeof(struct pa_stack_end) == 32, "changed: bump PA_ABI_VERSION");

/* The trigger that took a sample: its index in the session's list. */
enum pa_origin {
	PA_ORIGIN_ONCPU = 0, /* one value: the sample's period, ns or cycles */
};

/* What samples of all triggers have in common. `words` contains the values, the kernel frames
 * (plain addresses), the user frames, further frames that user space merges with those, and the
 * registers of an unfinished walk; frames are leaf first. The numbers of frames count words. */
struct pa_sample {
	struct pa_record head;
	__u64 cgroup_id; /* 0: not requested */
	__u32 tid;
	__u32 cpu;
	__u32 serial;     /* the two low bits: the nesting level; above them a counter */
	__u32 generation; /* of the mappings used for the walk; 0: none */
	__u16 nr_kernel;
	__u16 nr_user;
	__u16 nr_extra;
	__u8 nr_values;
	__u8 origin;      /* enum pa_origin */
	__u8 stop;        /* enum pa_stop */
	__u8 flags;       /* enum pa_sample_flags */
	__u16 syscall_nr; /* with PA_SAMPLE_IN_SYSCALL */
	__u8 pad[4];
	char comm[PA_COMM_SIZE];   /* of the process: its first thread's name */
	char thread[PA_COMM_SIZE]; /* of the thread */
	__u64 words[];
};
_Static_assert(sizeof(struct pa_sample) == 88, "changed: bump PA_ABI_VERSION");

PA_INLINE const __u64 *pa_sample_values(const struct pa_sample *s)
{
	return s->words;
}

PA_INLINE const __u64 *pa_sample_kernel(const struct pa_sample *s)
{
	return s->words + s->nr_values;
}

PA_INLINE const __u64 *pa_sample_user(const struct pa_sample *s)
{
	return pa_sample_kernel(s) + s->nr_kernel;
}

PA_INLINE const __u64 *pa_sample_extra(const struct pa_sample *s)
{
	return pa_sample_user(s) + s->nr_user;
}

/* struct pa_stack_regs, if the walk is unfinished. */
PA_INLINE const void *pa_sample_regs(const struct pa_sample *s)
{
	return pa_sample_extra(s) + s->nr_extra;
}

PA_INLINE __u32 pa_sample_nr_words(const struct pa_sample *s)
{
	return (__u32)s->nr_values + s->nr_kernel + s->nr_user + s->nr_extra;
}

/* The size of the record according to its own fields. */
PA_INLINE __u64 pa_sample_bytes(const struct pa_sample *s)
{
	return sizeof(*s) + 8ull * pa_sample_nr_words(s) +
	       (s->flags & PA_SAMPLE_UNFINISHED ? sizeof(struct pa_stack_regs) : 0);
}

#endif
