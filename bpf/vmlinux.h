/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The few kernel types that are read, with only the fields that are read. libbpf finds their real
 * offsets in the running kernel's BTF, so neither order nor completeness matters here.
 */
#ifndef BPF_VMLINUX_H
#define BPF_VMLINUX_H

#include <linux/types.h>

#include <linux/bpf.h>

typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

typedef struct {
	unsigned int val;
} kuid_t;

struct cred {
	kuid_t euid;
};

struct kernfs_node {
	u64 id; /* the inode's number */
};

struct cgroup_subsys_state {
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp; /* of cgroup v2 */
};

struct signal_struct {
	atomic_t live; /* threads that have not begun to exit */
	/* threads that still exist; the first one stays until its parent has waited for it */
	int nr_threads;
	unsigned long long sum_sched_runtime; /* ns of CPU time of threads that are gone */
};

struct mm_struct {
	unsigned long start_stack; /* where execve() left the first thread's stack pointer */
};

struct vm_unmapped_area_info {
	unsigned long length;
};

#if defined(__TARGET_ARCH_x86)
struct thread_struct {
	unsigned long fsbase;
};
#elif defined(__TARGET_ARCH_arm64)
struct thread_uw {
	unsigned long tp_value;
};

struct thread_struct {
	struct thread_uw uw;
};
#endif

struct sched_entity {
	u64 sum_exec_runtime;        /* ns of CPU time, up to the last tick or switch */
	unsigned char sched_delayed; /* since 6.12: queued, but asleep */
};

struct sched_info {
	unsigned long long run_delay;    /* ns spent waiting for CPUs */
	unsigned long long last_arrival; /* when it got its CPU, by the clock of the run queue */
	unsigned long long last_queued;  /* since when it waits for a CPU, by the same clock */
};

struct task_struct {
	struct sched_entity se;
	struct sched_info sched_info;
	int on_cpu;
	int on_rq;
	void *stack;
	unsigned int flags;
	int pid;
	int tgid;
	struct mm_struct *mm;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	int exit_signal; /* the signal that the parent gets at its exit; 0: none */
	struct pid *thread_pid;
	const struct cred
		*real_cred; /* those that others see; `cred` may be overridden for a while */
	struct signal_struct *signal;
	int exit_state; /* 0: it has not exited */
	struct css_set *cgroups;
	struct thread_struct thread;
	unsigned long sas_ss_sp; /* the alternate signal stack, as set by sigaltstack() */
	unsigned long sas_ss_size;
	char comm[16];
	u64 start_time;
	unsigned int in_execve : 1; /* from the beginning of execve() to its end */
	unsigned int in_iowait : 1;
	unsigned int __state; /* since 5.14 */
	long state;           /* before 5.14 */
};

#if defined(__TARGET_ARCH_x86)
/* x86 keeps cs and ss in unions with other types since 6.9; offsets are those of the entry code's
 * pushes and the same in all kernels, so this is not relocated field by field. */
struct pt_regs {
	unsigned long r15;
	unsigned long r14;
	unsigned long r13;
	unsigned long r12;
	unsigned long bp;
	unsigned long bx;
	unsigned long r11;
	unsigned long r10;
	unsigned long r9;
	unsigned long r8;
	unsigned long ax;
	unsigned long cx;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long flags;
	unsigned long sp;
};
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
};

struct pt_regs {
	struct user_pt_regs user_regs;
};
#else
#error "no such architecture"
#endif

/* kernel/kallsyms.c: one symbol, as passed by the iterator (since 6.0). */
struct kallsym_iter {
	unsigned long value;
	char type;
	char name[128];
	char module_name[56];
	int exported;
};

struct seq_file {
	unsigned long count;
};

#pragma clang attribute pop

/* The context of a symbol iterator. Its layout is that of the kernel's BTF, all pointers. */
struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct bpf_iter__ksym {
	struct bpf_iter_meta *meta;
	struct kallsym_iter *ksym;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

/* The context of a perf_event program. Its layout is kernel ABI, so nothing in it is relocated. */
#if defined(__TARGET_ARCH_x86)
struct pa_ctx_regs {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
		flags, sp, ss;
};
#else
struct pa_ctx_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
};
#endif

struct bpf_perf_event_data {
	struct pa_ctx_regs regs;
	__u64 sample_period;
	__u64 addr;
};

#endif
