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

struct signal_struct {
	atomic_t live; /* threads that have not begun to exit */
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

struct task_struct {
	void *stack;
	unsigned int flags;
	int pid;
	int tgid;
	struct mm_struct *mm;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct signal_struct *signal;
	struct thread_struct thread;
	unsigned long sas_ss_sp; /* the stack for signal handlers, as by sigaltstack() */
	unsigned long sas_ss_size;
	char comm[16];
	unsigned int in_execve : 1; /* from the beginning of execve() to its end */
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

/* kernel/kallsyms.c: one symbol, as the iterator hands it out (since 6.0). */
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

/* What an iterator over symbols is handed. Its layout is that of the kernel's BTF, all pointers. */
struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct bpf_iter__ksym {
	struct bpf_iter_meta *meta;
	struct kallsym_iter *ksym;
};

/* What a perf_event program is handed. Its layout is kernel ABI, so nothing in it is relocated. */
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
