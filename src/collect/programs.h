/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF programs and their maps: loaded, asked, unloaded. The fork, exec and exit programs are
 * attached here. Those that sample are a trigger's (collect/trigger.h), also where they are in this
 * object; one with an object of its own shares maps of this one by their descriptors.
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
#include "bpf/thread_time.h"
#include "bpf/wait.h"
#include "collect/sample_ring.h"

struct programs;
struct tables;

#define PROGRAMS_MAX_RING_BYTES (1u << 30)

struct programs_config {
	enum pa_select select;
	uid_t uid;     /* of PA_SELECT_USER */
	int cgroup_fd; /* of PA_SELECT_CGROUP: its directory; borrowed during the call */
	bool follow_children;
	bool kernel_stacks;
	bool cgroup_ids;            /* samples have them */
	bool has_oncpu;             /* the program of trigger_oncpu is loaded */
	bool use_waits;             /* time off the CPU */
	struct pa_wait_config wait; /* then */
	bool use_times;             /* of threads: thread_clock.h */
	uint64_t records_per_s; /* of all triggers; they say so, the session sizes the ring by it */
	size_t ring_bytes;      /* at most PROGRAMS_MAX_RING_BYTES; rounded up to 2^n pages */
	bool use_tables;        /* unwind tables; else frame pointers alone */
	size_t table_bytes;     /* at most, of rows */
};

/* Nothing runs in the kernel any more; what was counted can still be asked for. What samples runs until
 * triggers_disable(). */
void programs_detach(struct programs *p);

/* Loads everything and attaches the process programs. log must outlive the result. */
int programs_load(const struct programs_config *cfg, const struct log *log,
		  struct programs **ret_programs, struct pa_error *err);
struct programs *programs_free(struct programs *p);
DEFINE_CLEANUP(struct programs *, programs_free)

/*
 * For triggers: a program or a map of the object, by name; borrowed. -ENOENT. With an object of their
 * own, both must have one ring, one set of targets, one set of tables: programs_share_maps().
 */
int programs_program_fd(const struct programs *p, const char *name);
int programs_map_fd(const struct programs *p, const char *name);

/* Runs a raw tracepoint's program once on every CPU. One that is offline, or cannot be asked (below 5.10), is
 * left out. */
void programs_run_on_cpus(int program_fd);

/* What the programs were loaded with, for an object that must have the same; borrowed. */
const struct pa_config *programs_kernel_config(const struct programs *p);
const struct pa_wait_config *programs_wait_config(const struct programs *p);
const struct pa_time_config *programs_time_config(const struct programs *p);

/* Gives an object that is open, and not yet loaded, our maps in place of those of its own that have the
 * same names, and proc_stats; all other variables stay its own. */
struct bpf_object;
int programs_share_maps(const struct programs *p, struct bpf_object *object);

/* The element 0 of a map per CPU, size bytes each, of every possible CPU by number; the caller frees
 * the array. */
int programs_read_per_cpu(const struct programs *p, const char *map, size_t size, void **ret_values,
			  unsigned int *ret_nr_cpus);

/* Adds a process, or for PA_SELECT_TIDS a thread, that exists now, if it is not a target already.
 * -E2BIG: too many. */
int programs_add_target(struct programs *p, pid_t id, enum pa_target_state state);
int programs_remove_target(struct programs *p, pid_t id);
uint64_t programs_nr_targets(const struct programs *p);

/* A process that is not a target any more because it is exiting. -ENOENT: there is none
 * that was not forgotten. */
int programs_exiting(const struct programs *p, pid_t *ret_id);
void programs_forget_exiting(struct programs *p, pid_t id);

struct pa_proc_stats programs_proc_stats(const struct programs *p);

/* From here on targets that exit are kept in the map of ended ones (ended_targets.h). */
void programs_count_cpu_time(struct programs *p);

/* Since when time off the CPU is counted, or 0: the programs of that may be attached before and after. */
void programs_count_waits(struct programs *p, uint64_t since_ns);

/* From when to when the time of threads is counted; 0: it is not, and it has no end yet. */
void programs_time_threads(struct programs *p, uint64_t begin_ns, uint64_t end_ns);

/* A program that has begun may still run: returns when it does not. */
void programs_await_end(void);

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
