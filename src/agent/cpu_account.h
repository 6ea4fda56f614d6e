/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time during the capture according to the kernel, in addition to what the samples show: what
 * the hypervisor took from this machine (steal), and what the targets used.
 */
#ifndef AGENT_CPU_ACCOUNT_H
#define AGENT_CPU_ACCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "proc/cpu_times.h"

struct programs;

struct cpu_account {
	struct cpu_times machine; /* since boot; after the end: during the capture */
	bool has_machine;         /* /proc/stat could be read */
	bool has_targets;         /* the targets' time is counted */
	bool is_all;              /* every process was a target */
	int ended_fd;             /* owned; -1: exits are not watched */
	int cgroup_fd; /* borrowed; the selected cgroup; -1: targets are selected in another way */
	uint64_t before_ns; /* CPU time of the targets at the beginning */
	uint64_t live_ns;   /* at the end, of targets that the kernel side has not counted */
};

#define CPU_ACCOUNT_NONE                                                                           \
	{                                                                                          \
		.ended_fd = -1, .cgroup_fd = -1                                                    \
	}

/* cgroup_fd: the directory of the selected cgroup, which outlives the account; -1: none is. */
void cpu_account_begin(struct cpu_account *a, struct programs *p, int cgroup_fd);

/* A target is gone, but its exit was not seen: what it used is not known. */
void cpu_account_lose_target(struct cpu_account *a);

/* Called after the last sample, while the process programs are still attached. */
void cpu_account_end(struct cpu_account *a, const struct programs *p);

/* Called once, some time after the end, when the kernel has freed the targets that had exited by
 * then. If cancelled, the targets' CPU time is incomplete. */
void cpu_account_settle(struct cpu_account *a, const struct programs *p, const atomic_bool *cancel);

void cpu_account_close(struct cpu_account *a);

/* Valid after cpu_account_settle(); otherwise PA_UNKNOWN. */
uint64_t cpu_account_steal_ns(const struct cpu_account *a);
uint64_t cpu_account_targets_ns(const struct cpu_account *a, const struct programs *p);

#endif
