/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The targets and those that have ended, for the account of their CPU time. A target is accounted for by
 * user space while it lives. When one exits that was left to the kernel (PA_TARGET_CPU), it goes into the
 * map of ended ones, and when the kernel frees it, some milliseconds after its parent has waited for it,
 * its time is added to pa_proc_stats.ended_cpu_ns: only then is it complete.
 */
#ifndef COLLECT_ENDED_TARGETS_H
#define COLLECT_ENDED_TARGETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct programs;

/* Lets the kernel account for ended targets, until the descriptor is closed, which is the caller's. New
 * processes are left to it from here on, those that exist are when ended_targets_leave() says so. */
int ended_targets_watch(struct programs *p);

/* The PIDs of all targets, each once and sorted; the caller frees them. */
int ended_targets_live(const struct programs *p, pid_t **ret_pids, uint32_t *ret_nr);

/* Whether the kernel is to account for this target when it ends. -ENOENT: it has ended. */
int ended_targets_leave(const struct programs *p, pid_t pid, bool is_left);

struct ended_target {
	uint64_t key;
	pid_t pid;
};

/* Those that the kernel has yet to free, some perhaps twice. False: it did not end within max steps. */
bool ended_targets_list(const struct programs *p, struct ended_target *to, uint32_t max,
			uint32_t *ret_nr);

/* Takes it out, so that the kernel does not count it. False: it has. */
bool ended_targets_take(const struct programs *p, uint64_t key);

#endif
