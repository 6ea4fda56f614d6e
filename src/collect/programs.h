/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF programs and their maps: loaded, read, unloaded. The fork, exec and exit programs are
 * attached here. Programs that sample are attached by their trigger (collect/trigger.h), even if
 * they are in this object. An object of its own shares this one's maps by their descriptors.
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
	uid_t uid;     /* for PA_SELECT_USER */
	int cgroup_fd; /* for PA_SELECT_CGROUP: its directory; borrowed during the call */
	bool follow_children;
	bool kernel_stacks;
	bool cgroup_ids;            /* samples carry their cgroup ID */
	bool has_oncpu;             /* load the program of trigger_oncpu */
	bool use_waits;             /* load the programs for off-CPU time */
	struct pa_wait_config wait; /* with use_waits */
	bool use_times;             /* load the programs for the time of threads: thread_clock.h */
	/* of all triggers, which add theirs; the session sizes the ring by it */
	uint64_t records_per_s;
	size_t ring_bytes;  /* at most PROGRAMS_MAX_RING_BYTES; rounded up to 2^n pages */
	bool use_tables;    /* use unwind tables; otherwise only frame pointers */
	size_t table_bytes; /* limit for the rows of unwind tables */
};

/* Detaches the programs that are attached here; their counters can still be read. Programs that
 * sample run until triggers_disable(). */
void programs_detach(struct programs *p);

/* Loads everything and attaches the process programs. log must outlive the result. */
int programs_load(const struct programs_config *cfg, const struct log *log,
		  struct programs **ret_programs, struct pa_error *err);
struct programs *programs_free(struct programs *p);
DEFINE_CLEANUP(struct programs *, programs_free)

/*
 * For triggers: a program or a map of the object, by name; borrowed. -ENOENT. A trigger with an
 * object of its own must use the same ring, targets and tables: programs_share_maps().
 */
int programs_program_fd(const struct programs *p, const char *name);
int programs_map_fd(const struct programs *p, const char *name);

/* Runs a raw tracepoint program once on every CPU. CPUs that are offline are skipped; so are all
 * CPUs before 5.10, which cannot do that. */
void programs_run_on_cpus(int program_fd);

/* The configuration that the programs were loaded with, for an object that must have the same;
 * borrowed. */
const struct pa_config *programs_kernel_config(const struct programs *p);
const struct pa_wait_config *programs_wait_config(const struct programs *p);
const struct pa_time_config *programs_time_config(const struct programs *p);

/* For an object that is open and not yet loaded: replaces its maps by our maps of the same names,
 * and proc_stats by ours. All other variables stay its own. */
struct bpf_object;
int programs_share_maps(const struct programs *p, struct bpf_object *object);

/* Reads element 0 of a per-CPU map, `size` bytes each, for every possible CPU by number; the caller
 * frees the array. */
int programs_read_per_cpu(const struct programs *p, const char *map, size_t size, void **ret_values,
			  unsigned int *ret_nr_cpus);

/* Adds an existing process (for PA_SELECT_TIDS a thread), unless it is a target already. -E2BIG:
 * too many. */
int programs_add_target(struct programs *p, pid_t id, enum pa_target_state state);
int programs_remove_target(struct programs *p, pid_t id);
bool programs_has_target(const struct programs *p, pid_t id); /* any thread */
uint64_t programs_nr_targets(const struct programs *p);

/* Returns a former target that is exiting. -ENOENT: there is none that was not forgotten. */
int programs_exiting(const struct programs *p, pid_t *ret_id);
void programs_forget_exiting(struct programs *p, pid_t id);

struct pa_proc_stats programs_proc_stats(const struct programs *p);

/* From now on targets that exit are kept in the map of ended targets (ended_targets.h). */
void programs_count_cpu_time(struct programs *p);

/* Begins off-CPU accounting at that time; 0 ends it. Its programs may be attached before or
 * after. */
void programs_count_waits(struct programs *p, uint64_t since_ns);

/* Sets when the time of threads is counted; begin 0: not at all; end 0: no end yet. */
void programs_time_threads(struct programs *p, uint64_t begin_ns, uint64_t end_ns);

/* Waits until every program that has begun to run has ended. */
void programs_await_end(void);

/* The tables that unwind rows and mappings are written to; NULL without use_tables. Borrowed. */
struct tables *programs_tables(const struct programs *p);

/* How many bytes of stacks may still be copied; none if negative. The kernel decrements it
 * concurrently. */
int64_t programs_stack_budget(const struct programs *p);
void programs_add_stack_budget(struct programs *p, int64_t bytes);

/* Adds how often each program ran, and for how long: collect/program_times.h. */
struct program_times;
void programs_add_times(const struct programs *p, struct program_times *to);

/* The ring: becomes readable when a record asks for attention. */
int programs_ring_fd(const struct programs *p);

/* Calls fn for every record in the ring. Ends early with fn's result if that is negative. */
int programs_drain(struct programs *p, ring_record_fn fn, void *ctx);

#endif
