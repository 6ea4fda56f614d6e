/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF programs and their maps: loaded, asked, unloaded. The fork, exec and exit programs are
 * attached here; the sampling program is attached to events by collect/events.h.
 */
#ifndef COLLECT_PROGRAMS_H
#define COLLECT_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "bpf/abi.h"
#include "collect/sample_ring.h"

struct programs;
struct tables;

struct programs_config {
	bool all;
	bool follow_children;
	bool kernel_stacks;
	size_t ring_bytes;  /* rounded up to a power of two of pages */
	bool use_tables;    /* unwind tables; else frame pointers alone */
	size_t table_bytes; /* at most, of rows */
};

/* Nothing runs in the kernel any more; what was counted can still be asked for. The sampling program
 * runs with its events (events_disable()). */
void programs_detach(struct programs *p);

/* Loads everything and attaches the process programs. log must outlive the result. */
int programs_load(const struct programs_config *cfg, const struct log *log,
		  struct programs **ret_programs, struct pa_error *err);
struct programs *programs_free(struct programs *p);
DEFINE_CLEANUP(struct programs *, programs_free)

int programs_sampler_fd(const struct programs *p);

/* Adds a process that exists now. False when it was a target already. -E2BIG: too many. */
int programs_add_target(struct programs *p, pid_t pid, enum pa_target_state state);
int programs_remove_target(struct programs *p, pid_t pid);
uint64_t programs_nr_targets(const struct programs *p);

/* One that is no target any more because it exits, and may still be about it. -ENOENT: there is none
 * that was not forgotten. */
int programs_exiting(const struct programs *p, pid_t *ret_pid);
void programs_forget_exiting(struct programs *p, pid_t pid);

/* The counters of every possible CPU, by number; the caller frees the array. */
int programs_tick_stats(const struct programs *p, struct pa_tick_stats **ret_per_cpu,
			unsigned int *ret_nr_cpus);
struct pa_proc_stats programs_proc_stats(const struct programs *p);

/* Where unwind tables and mappings are written; NULL without use_tables. Borrowed. */
struct tables *programs_tables(const struct programs *p);

/* How many bytes of stacks may still be copied; below 0: none. The kernel counts down meanwhile. */
int64_t programs_stack_budget(const struct programs *p);
void programs_add_stack_budget(struct programs *p, int64_t bytes);

/* The ring: becomes readable when a record asks for attention. */
int programs_ring_fd(const struct programs *p);

/* Calls fn for every record there is. Ends early with fn's result when that is negative. */
int programs_drain(struct programs *p, ring_record_fn fn, void *ctx);

#endif
