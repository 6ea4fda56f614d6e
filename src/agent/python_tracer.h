/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that stops threads of targets and looks into their memory. A target can keep it waiting
 * for ever: it may execute a file of a file system that does not answer, or have its pages there. So it works on its
 * own copy of one target at a time, and can be abandoned: then it touches nothing but what is its
 * own, cancels what it has queued should it wake up, and frees itself. When it ends, the kernel lets
 * go of all threads that it is attached to.
 *
 * Called by one other thread.
 */
#ifndef AGENT_PYTHON_TRACER_H
#define AGENT_PYTHON_TRACER_H

#include "inject/python_switch.h"

enum python_job {
	PYTHON_STEP,
	PYTHON_GIVE_UP,
	PYTHON_FORK,    /* python_switch_fork() */
	PYTHON_CLEAN,   /* true: done */
	PYTHON_RELEASE, /* takes the straggler over */
};

struct python_tracer;

int python_tracer_new(struct python_tracer **ret_tracer);

/* Begins a job with a copy of *s. parent: for PYTHON_FORK. */
void python_tracer_begin(struct python_tracer *t, enum python_job job,
			 const struct python_switch *s, const struct python_switch *parent);

/* Waits for a while. False: the job is not done yet. */
bool python_tracer_await(struct python_tracer *t, uint64_t wait_ns,
			 struct python_switch *ret_switch, bool *ret_answer);

/* Whether a file is known to be no Python. Not during a job. */
bool python_tracer_knows(const struct python_tracer *t, uint64_t file_key);

/* During a job. t is not valid any more. */
void python_tracer_abandon(struct python_tracer *t);

/* Not during a job. */
struct python_tracer *python_tracer_free(struct python_tracer *t);

#endif
