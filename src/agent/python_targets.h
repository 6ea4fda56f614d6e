/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Switches Python's perf trampoline on in the targets of a capture, and off again where it was
 * switched on. A thread of its own does that, so that a slow target delays no sample.
 *
 * Processes that were selected by their number are strict: if one of them cannot be switched on, the
 * capture does not begin. All others (children, the whole machine, a user, a cgroup, what a command
 * starts) are switched on as soon as they can be, also while samples are taken, and what could not be
 * is counted by its reason.
 */
#ifndef AGENT_PYTHON_TARGETS_H
#define AGENT_PYTHON_TARGETS_H

#include <perfagent/perfagent.h>
#include <stdatomic.h>

#include "agent/settings.h"
#include "base/log.h"
#include "proc/procfs.h"
#include "sample/process_event.h"

struct programs;
struct python_targets;

struct python_targets_config { /* all borrowed */
	const struct settings *settings;
	const struct procfs *procfs;
	const struct programs *programs; /* knows which processes are targets */
	int cgroup_fd;                   /* of the selected cgroup */
	const struct log *log;
	/* The user waits, or does not want to wait at all: less patience at the end. */
	const atomic_bool *is_interrupted, *is_cancelled;
};

/* Before programs are loaded: the processes that touch targets are forked here, and what was mapped
 * before would be theirs too. */
int python_targets_new(struct python_targets **ret_targets);

/* Begins, once. */
int python_targets_begin(struct python_targets *p, const struct python_targets_config *cfg);

/* Whether the strict targets are switched on: -EAGAIN: not yet; another error: one of them cannot be,
 * which err says. */
int python_targets_ready(struct python_targets *p, struct pa_error *err);

/* What happens to processes meanwhile. p may be NULL. */
void python_targets_event(struct python_targets *p, const struct process_event *e);

/* Begins to switch everything off. p may be NULL, here and below. */
void python_targets_end(struct python_targets *p);

/* Ends, and waits for that: bounded, and shorter if the user waits. */
void python_targets_join(struct python_targets *p);
struct python_targets *python_targets_free(struct python_targets *p);

/* Fills PYTHON_TARGETS_NR_COUNTS counts, also those that are 0, and returns their number. Any thread. */
#define PYTHON_TARGETS_NR_COUNTS 32
size_t python_targets_counts(struct python_targets *p, struct pa_count *to);

#endif
