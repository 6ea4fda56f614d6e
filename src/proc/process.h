/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process and its history: a sequence of versions, each the tree of its mappings from a time
 * on. A mapping that replaces nothing goes into the newest version (its own since_ns says from when
 * on it counts); whatever removes something begins a new version and leaves the old one unchanged.
 * A lookup is a bisection by time, then one by address. Private to proc/; the tracker knows which
 * process has which PID.
 */
#ifndef PROC_PROCESS_H
#define PROC_PROCESS_H

#include "proc/file_world.h"
#include "proc/maptree.h"
#include "proc/tracker.h"

#define PROCESS_ALIVE UINT64_MAX

/* Shared by the processes of one tracker. */
struct history {
	struct maptree_pool nodes;
	struct process *past; /* processes that ended or have more than one version; borrowed */
	uint64_t nr_versions_dropped;
	uint64_t last_image;
};

struct version {
	uint64_t from_ns; /* until from_ns of the next version */
	uint64_t image;
	uint64_t exec_ns;          /* time of the exec of its program; 0: unknown */
	uint32_t nr_execs;         /* number of execs of the process up to then */
	uint32_t nr_jitdumps;      /* jitdumps mapped by its program */
	struct maptree_node *root; /* owned reference */
};

struct process {
	pid_t pid, ppid;
	uint64_t id;
	uint64_t start_ns;
	uint64_t end_ns;         /* PROCESS_ALIVE */
	uint64_t newest_ns;      /* time of its newest event */
	uint64_t program_ns;     /* when its program was last confirmed: exec, or /proc */
	uint64_t start_ticks;    /* from /proc; 0: not read yet */
	uint64_t origin_program; /* the parent's at the fork; 0: unknown */
	uint32_t nr_looks;       /* checks for moved code */
	uint32_t nr_to_check;    /* mappings, with which /proc is read again */
	struct file_world world; /* as far as known */
	/* an exec happened since then: entering a container involves one */
	bool is_world_old;
	struct version *versions; /* owned; at least one */
	uint32_t nr_versions, cap_versions;
	struct process *older;       /* owned by the tracker: the previous process with the PID */
	struct process *prev, *next; /* in history.past; NULL at the ends */
	bool is_in_past;
};

static inline bool process_has_ended(const struct process *p)
{
	return p->end_ns != PROCESS_ALIVE;
}

/* A process without mappings, from time_ns on. NULL if out of memory. */
struct process *process_new(pid_t pid, pid_t ppid, uint64_t time_ns);
void process_free(struct history *h, struct process *p);

/* The time at which an event takes effect: never before what is already known. */
uint64_t process_advance(struct process *p, uint64_t time_ns);

/* No effect if it has already ended. */
void process_end(struct history *h, struct process *p, uint64_t time_ns);

/* The following are changes at a time returned by process_advance(), and fail with -ENOMEM or
 * -E2BIG. */

int process_put(struct history *h, struct process *p, const struct mapping *m, uint64_t time_ns);
int process_remove(struct history *h, struct process *p, const struct mapping *m, uint64_t time_ns);

/* Another program, without mappings yet. */
int process_replace(struct history *h, struct process *p, uint64_t time_ns);

/* Copies the parent's current image and mappings to a child that has none yet. */
void process_share(struct process *child, const struct process *parent);

/* The current tree; borrowed. */
struct maptree_node *process_current(const struct process *p);

/* Drops versions that ended before time_ns; true while any history is left. */
bool process_forget(struct history *h, struct process *p, uint64_t time_ns);

void history_remove(struct history *h, struct process *p);

bool mapping_eq(const struct mapping *a, const struct mapping *b); /* ignores since_ns */

#endif
