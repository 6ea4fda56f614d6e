/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Everything that crosses the border between kernel and user space. Two compilers read it, so every
 * struct states its size. PIDs are those of the agent's own PID namespace.
 */
#ifndef BPF_ABI_H
#define BPF_ABI_H

#ifdef __bpf__
#include "vmlinux.h"
#else
#include <linux/types.h>
#endif

#define PA_ABI_VERSION 4

#define PA_COMM_SIZE 16          /* TASK_COMM_LEN */
#define PA_MAX_USER_FRAMES 512   /* 8 % of clang's stacks are deeper than 127 */
#define PA_MAX_KERNEL_FRAMES 127 /* kernel.perf_event_max_stack, as shipped */
#define PA_PCS_SLOTS 1024        /* room for both, a power of two so that an index can be masked */
_Static_assert(PA_MAX_USER_FRAMES + PA_MAX_KERNEL_FRAMES <= PA_PCS_SLOTS, "frames must fit");

/* On a user pc in a record: the pc is exact (the sampled one, the one a signal interrupted, or where
 * a signal handler returns to), not a return address. User addresses never have this bit. */
#define PA_PC_EXACT (1ull << 63)

enum pa_stop {
#define X(name, value, machine, text, cure) PA_STOP_##name = value,
#include "stop_reasons.def"
#undef X
	PA_NR_STOPS
};

/* Samples of tasks that have no user stack: kernel threads, and tasks inside execve() or exit. A bit
 * per value of enum pa_stop. */
#define PA_STOPS_WITHOUT_STACK (1u << PA_STOP_KERNEL | 1u << PA_STOP_NO_MM | 1u << PA_STOP_EXEC)
_Static_assert(PA_NR_STOPS <= 32, "a bit per stop");

/* What a process in the target map is. */
enum pa_target_state {
	PA_TARGET_ON = 1,
	PA_TARGET_AT_EXEC = 2, /* becomes ON with its next execve() */
};

/* Fixed before the programs are loaded, so that the verifier removes what is switched off. */
struct pa_config {
	__u32 pidns_inum;      /* of the agent's PID namespace */
	__u8 pidns_is_initial; /* then the kernel's own numbers are right and nothing is looked up */
	__u8 all;              /* the whole machine: the target map is not asked */
	__u8 follow_children;
	__u8 kernel_stacks;
	__u32 thread_size; /* of a kernel stack, bytes; for kernels without bpf_task_pt_regs() */
	__u32 kernel_task_flags; /* bits of task->flags that mark kernel threads and workers */
	__u8 use_tables;         /* else by frame pointer alone */
	__u8 pad[7];
};
_Static_assert(sizeof(struct pa_config) == 24, "changed: bump PA_ABI_VERSION");

/*
 * One per CPU; every run of the sampling program adds one to `ticks` and to exactly one of the five
 * that follow it.
 */
struct pa_tick_stats {
	__u64 ticks;
	__u64 idle;
	__u64 other;     /* not a target */
	__u64 outside;   /* no PID in the agent's namespace */
	__u64 submitted; /* a record went into the ring */
	__u64 ring_full;
	__u64 weight; /* sum of the sample periods of all ticks */
};
_Static_assert(sizeof(struct pa_tick_stats) == 56, "changed: bump PA_ABI_VERSION");

/* Counters of the process programs; one for the machine, added to atomically. */
struct pa_proc_stats {
	__u64 nr_targets;   /* in the map now */
	__u64 targets_lost; /* a child could not be added: the map was full */
	__u64 notices_lost; /* the ring was full; costs latency only */
	__s64 stack_budget; /* bytes of stacks that may still be copied; user space refills it */
};
_Static_assert(sizeof(struct pa_proc_stats) == 32, "changed: bump PA_ABI_VERSION");

enum pa_record_type {
	PA_RECORD_SAMPLE = 1,
	PA_RECORD_NOTICE = 2,    /* look at this process now, it may be gone soon */
	PA_RECORD_LAST_EXIT = 3, /* no target is left */
	PA_RECORD_STACK = 4,     /* struct pa_stack_page */
	PA_RECORD_EXEC = 5,      /* like a notice: it runs another program now */
	PA_RECORD_STACK_END = 6, /* struct pa_stack_end */
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
	PA_SAMPLE_UNFINISHED = 4,  /* registers follow the pcs, and pages of the stack the record */
	PA_SAMPLE_IN_SYSCALL =
		8, /* the user pc is behind the instruction that made a system call */
};

/* Sizes of maps that both sides count with; powers of two. */
#define PA_SHARD_ROWS 524288u /* 2 MiB */
#define PA_MAX_SHARDS 256u
#define PA_CACHE_SLOTS 4096u /* per CPU */

#define PA_CODE_BYTES 16 /* what walks look at (pa_record_at) fits into half of it, either way */

/* A walk that user space can finish: the sampled registers stand behind the pcs; the stack comes
 * page by page in records of its own, from the same CPU, before its next sample. */
struct pa_stack_regs {
	__u64 pc, sp, lr;
	__u64 regs[32];           /* by DWARF number */
	__u8 code[PA_CODE_BYTES]; /* half before pc, half from there on; as code.h reads it */
};
_Static_assert(sizeof(struct pa_stack_regs) == 296, "changed: bump PA_ABI_VERSION");

#define PA_STACK_MAX_PAGES 32 /* 128 KiB: 99.5 % of clang's stacks fit 108 KiB */
#define PA_STACK_PAGE_BYTES 4096u
#define PA_STACK_MAX_BYTES (PA_STACK_MAX_PAGES * PA_STACK_PAGE_BYTES)

#define PA_RED_ZONE_BYTES 128 /* below sp, in use by leaf functions: x86-64 ABI, 3.2.2 */

struct pa_stack_page {
	struct pa_record head; /* time_ns is the sample's */
	__u64 addr;
	__u32 cpu;
	__u32 size; /* bytes that follow */
	char bytes[];
};
_Static_assert(sizeof(struct pa_stack_page) == 32, "changed: bump PA_ABI_VERSION");

/* Behind the last page. Where it is missing, the ring was full. */
struct pa_stack_end {
	struct pa_record head; /* time_ns is the sample's */
	__u32 cpu;
	__u32 stop; /* enum pa_stop: of a walk that needs more than was copied */
};
_Static_assert(sizeof(struct pa_stack_end) == 24, "changed: bump PA_ABI_VERSION");

struct pa_sample {
	struct pa_record head;
	__u64 weight; /* the sample's period: ns, or cycles */
	__u32 tid;
	__u32 cpu;
	__u16 nr_kernel; /* pcs[0 .. nr_kernel): leaf first */
	__u16 nr_user;   /* the user pcs behind them, leaf first */
	__u8 stop;       /* enum pa_stop */
	__u8 flags;      /* enum pa_sample_flags */
	__u8 pad[6];
	__u32 generation;          /* of the mappings it was walked with; 0: none were used */
	char comm[PA_COMM_SIZE];   /* of the process: its first thread's name */
	char thread[PA_COMM_SIZE]; /* of the thread */
	__u64 pcs[];
};
_Static_assert(sizeof(struct pa_sample) == 80, "changed: bump PA_ABI_VERSION");

#endif
