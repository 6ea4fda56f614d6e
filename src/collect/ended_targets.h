/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live and ended targets, for accounting their CPU time. A live target is accounted for by user
 * space. With PA_TARGET_CPU, a target that exits goes into the map of ended targets instead. When
 * the kernel frees it, some milliseconds after its parent has waited for it, its CPU time is
 * complete and is added to pa_proc_stats.ended_cpu_ns.
 */
#ifndef COLLECT_ENDED_TARGETS_H
#define COLLECT_ENDED_TARGETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct programs;

/* Lets the kernel account for ended targets until the returned descriptor is closed, which the
 * caller owns. New processes get PA_TARGET_CPU from now on; existing ones with
 * ended_targets_leave(). */
int ended_targets_watch(struct programs *p);

/* The PIDs of all targets, each once and sorted; the caller frees them. */
int ended_targets_live(const struct programs *p, pid_t **ret_pids, uint32_t *ret_nr);

/* Sets whether the kernel accounts for this target when it ends. -ENOENT: it has ended. */
int ended_targets_leave(const struct programs *p, pid_t pid, bool is_left);

struct ended_target {
	uint64_t key;
	pid_t pid;
};

/* The targets that the kernel has not freed yet, some perhaps twice. False if the end of the map
 * was not reached within max steps. */
bool ended_targets_list(const struct programs *p, struct ended_target *to, uint32_t max,
			uint32_t *ret_nr);

/* Removes a target from the map, so that the kernel does not count it. False if it has done so
 * already. */
bool ended_targets_take(const struct programs *p, uint64_t key);

#endif
