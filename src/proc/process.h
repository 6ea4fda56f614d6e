/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process and its past. It is a row of versions, each the tree of its mappings from a moment on.
 * A mapping that takes no other's place goes into the newest version (its own since_ns says from
 * when it counts); whatever takes something away begins a new version and leaves the old one as it
 * was. So a question is a bisection in time, then one by address. Private to proc/; which process
 * has which PID is the tracker's business.
 */
#ifndef PROC_PROCESS_H
#define PROC_PROCESS_H

#include "proc/maptree.h"
#include "proc/tracker.h"

#define PROCESS_ALIVE UINT64_MAX

/* What the processes of one tracker share. */
struct history {
	struct maptree_pool nodes;
	struct process *past; /* those that ended or have more than one version; borrowed */
	uint64_t nr_versions_dropped;
	uint64_t last_image;
};

struct version {
	uint64_t from_ns; /* until the next one's */
	uint64_t image;
	uint64_t exec_ns;          /* when its program was begun by exec; 0: not known */
	uint32_t nr_execs;         /* of the process until then */
	uint32_t nr_jitdumps;      /* that its program has mapped */
	struct maptree_node *root; /* owned reference */
};

struct process {
	pid_t pid, ppid;
	uint64_t id;
	uint64_t start_ns;
	uint64_t end_ns;          /* PROCESS_ALIVE */
	uint64_t newest_ns;       /* of its events */
	uint64_t program_ns;      /* when its program was last heard of: exec, or /proc */
	uint64_t start_ticks;     /* as /proc told; 0: not asked so far */
	uint64_t origin_program;  /* of the parent when it was forked; 0: not known */
	uint32_t nr_looks;        /* at memory that may be moved code */
	uint32_t root;            /* of the filestore's; ROOT_UNKNOWN */
	bool is_root_old;         /* an exec has come since: who enters a container does that */
	struct version *versions; /* owned; at least one */
	uint32_t nr_versions, cap_versions;
	struct process *older;       /* owned by the tracker: the one that had the PID before */
	struct process *prev, *next; /* in history.past; NULL at the ends */
	bool is_in_past;
};

static inline bool process_has_ended(const struct process *p)
{
	return p->end_ns != PROCESS_ALIVE;
}

/* From time_ns on, with no mappings. NULL: no memory. */
struct process *process_new(pid_t pid, pid_t ppid, uint64_t time_ns);
void process_free(struct history *h, struct process *p);

/* The time at which an event takes effect: never before what is already known. */
uint64_t process_advance(struct process *p, uint64_t time_ns);

/* Nothing happens if it has ended before. */
void process_end(struct history *h, struct process *p, uint64_t time_ns);

/* All below are changes at a time that process_advance() gave, and fail with -ENOMEM or -E2BIG. */

int process_put(struct history *h, struct process *p, const struct mapping *m, uint64_t time_ns);
int process_remove(struct history *h, struct process *p, const struct mapping *m, uint64_t time_ns);

/* Another program, without mappings so far. */
int process_replace(struct history *h, struct process *p, uint64_t time_ns);

/* The parent's image and mappings of now, in a child that has none so far. */
void process_share(struct process *child, const struct process *parent);

/* The tree of now; borrowed. */
struct maptree_node *process_current(const struct process *p);

/* Drops versions that ended before time_ns; true while any past is left. */
bool process_forget(struct history *h, struct process *p, uint64_t time_ns);

void history_remove(struct history *h, struct process *p);

bool mapping_eq(const struct mapping *a, const struct mapping *b); /* since_ns apart */

#endif
