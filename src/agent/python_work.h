/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the thread does that switches Python on and off: it has the list of targets, decides what is to
 * be done next, and does it. Whatever a target can block is done by other processes, a reader and the
 * tracer (inject/tracer.h), for which it never waits without a deadline. All by this one thread, unless
 * said otherwise.
 */
#ifndef AGENT_PYTHON_WORK_H
#define AGENT_PYTHON_WORK_H

#include "agent/python_list.h"
#include "agent/python_shares.h"
#include "agent/python_targets.h"
#include "inject/python_tools.h"
#include "inject/tracer.h"

/* What became of those that were switched on; the sum is their number. */
struct python_off_counts {
	uint64_t nr_off, nr_queued, nr_left, nr_ended;
};

struct python_work {
	struct python_targets_config cfg;
	struct python_list list;
	struct python_shares shares;
	bool has_procfs;
	struct procfs procfs; /* its own: a long read delays no sample */
	struct interpreter_cache cache;
	struct tracer *tracer; /* owned; NULL: too many were abandoned */
	uint64_t job_began_ns;
	struct cancel job_over;
	uint32_t first; /* where the next round begins */
	bool needs_scan;
	atomic_bool is_ending; /* set by another thread */
	uint64_t off_began_ns; /* switching off; 0: not yet */
	uint32_t nr_strict_left;
	pid_t failed_pid; /* a strict target that cannot be switched on; 0: none */
	enum python_outcome failed_outcome;
	struct python_off_counts off;
};

/* ---- python_work.c ---- */

/* While the caller is small and has loaded no programs: what the tracer is forked from. */
int python_work_init(struct python_work *w);

enum python_job {
	PYTHON_STEP,
	PYTHON_GIVE_UP,
	PYTHON_FORK,  /* python_switch_fork() */
	PYTHON_CLEAN, /* true: done */
};

/* Does it, and returns its answer. A target that does not answer in time is settled as
 * PYTHON_UNANSWERED; if it has hung the tracer, another one takes over. */
bool python_work_do(struct python_work *w, struct python_target *t, enum python_job job,
		    const struct python_target *parent);

/* NULL: no room. It has nothing to do yet. */
struct python_target *python_work_add(struct python_work *w, pid_t pid);
void python_work_begin(struct python_target *t, enum inject_op op, uint64_t at_ns);

/* After a step that has not settled it. */
void python_work_delay(struct python_target *t, uint64_t now_ns);

/* The attempt to switch it on is over. */
void python_work_note(struct python_work *w, struct python_target *t, enum python_outcome o);

/* Calls off what is queued; if the call has begun, it is waited for in later steps, for a while. */
void python_work_give_up(struct python_work *w, struct python_target *t);

/* Makes all steps that are due. Returns when the next one is. */
uint64_t python_work_step_all(struct python_work *w);
void python_work_done(struct python_work *w); /* also of one that is all zeros */

/* ---- python_follow.c: which processes ---- */

struct python_event {
	enum process_event_type type;
	pid_t pid, ppid;
	uint64_t time_ns, file_key;
};
void python_follow_event(struct python_work *w, const struct python_event *e);

/* Looks for targets among all processes. */
void python_follow_scan(struct python_work *w);

/* Children of which no event has told. */
void python_follow_missed(struct python_work *w);
bool python_follow_is_gone(const struct python_work *w, const struct python_target *t);

/* ---- python_off.c ---- */

/* Until when switching off may take, as things are now. */
uint64_t python_off_deadline_ns(const struct python_work *w);
void python_off(struct python_work *w);

#endif
