/* SPDX-License-Identifier: Apache-2.0 */
/* The processes whose Python is switched on, or is to be, and those that were looked at, by PID. */
#ifndef AGENT_PYTHON_LIST_H
#define AGENT_PYTHON_LIST_H

#include "inject/python_switch.h"

#define PYTHON_NEVER UINT64_MAX

struct python_target {
	struct python_switch sw;
	bool is_strict;   /* a failure ends the start of the capture */
	bool may_be_gone; /* that it has ended is not a failure */
	bool is_forked;   /* and has executed no program of its own */
	bool is_given_up; /* called off, at given_up_ns; the call may have begun before */
	pid_t origin;     /* the process that it was forked from; 0: unknown */
	bool has_outcome;
	uint32_t user;               /* see python_shares.h */
	enum python_outcome outcome; /* of switching on */
	uint64_t began_ns, on_ns, given_up_ns;
	uint64_t new_until_ns; /* may be looked at before its files are mapped */
	uint64_t due_ns;       /* next step; PYTHON_NEVER: none */
	uint64_t wait_ns;      /* between the last two steps */
};

struct python_list {
	struct python_target **items; /* owned, as are the targets; by PID */
	uint32_t nr, cap;
	uint64_t counts[PYTHON_NR_OUTCOMES]; /* of those that were removed */
	uint64_t nr_ended;                   /* of those that were removed: were switched on */
	uint64_t nr_no_room;
};

struct python_target *python_list_find(const struct python_list *l, pid_t pid);

/* The PID must not be in the list. NULL: no room, which is counted. */
struct python_target *python_list_add(struct python_list *l, const struct procfs *procfs,
				      pid_t pid);

/* Counts it, if it has an outcome. */
void python_list_remove(struct python_list *l, pid_t pid);

/* By outcome, with those that were removed. */
void python_list_count(const struct python_list *l, uint64_t to[PYTHON_NR_OUTCOMES]);
void python_list_done(struct python_list *l);

#endif
