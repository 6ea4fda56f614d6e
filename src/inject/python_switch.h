/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Switches the perf trampoline of one CPython process, step by step, so that many processes can be
 * handled at once and none is waited for. A thread at a safe point queues a call in the interpreter
 * (_PyEval_AddPendingCall()), and the interpreter makes it when it next checks for signals, with the
 * GIL. Safe points:
 *
 * - in the interpreter's main loop: its function holds no lock but the GIL;
 * - in a system call, unless a signal handler may be running, or the call may belong to the GIL: the
 *   locks of the queue are not held across other system calls.
 *
 * All calls by one thread. Whatever could wait for ever is done by other processes: a reader
 * (proc/reader.h), and the tracer (tracer.h). A target that hangs the tracer is settled as
 * PYTHON_UNANSWERED.
 */
#ifndef INJECT_PYTHON_SWITCH_H
#define INJECT_PYTHON_SWITCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/identity.h"
#include "inject/interpreter.h"
#include "inject/page.h"

struct procfs;
struct python_tools;

enum python_outcome {
#define X(name, key, text, fix) PYTHON_##name,
#include "inject/python_outcomes.def"
#undef X
	PYTHON_NR_OUTCOMES
};
const char *python_outcome_key(enum python_outcome o);
const char *python_outcome_text(enum python_outcome o);
const char *python_outcome_fix(enum python_outcome o); /* "": none is needed */

enum python_stage {
	PYTHON_WAITS, /* for a thread at a safe point */
	PYTHON_IS_QUEUED,
	PYTHON_SETTLED,
};

struct python_switch {
	pid_t pid;
	uint64_t start_ticks; /* 0: no such process */
	enum python_stage stage;
	enum python_outcome outcome; /* valid if settled; before, what stood in the way last */
	enum inject_op op;
	bool has_interpreter;
	bool is_on;         /* switched on, by us */
	bool is_inherited;  /* as the child of one that we switched on */
	uint32_t nr_queued; /* calls, all in all; see inject_page.nr_done */
	struct interpreter in;
	struct identity identity; /* of the process whose interpreter that is */
	int32_t ns_pid;           /* as the process itself sees it; 0: not known yet */
	uint64_t page; /* address of the code; the data is in the page after it; 0: none */
};

void python_switch_init(struct python_switch *s, const struct procfs *procfs, pid_t pid);

/* Begins to switch; then call python_switch_step() until it is settled. */
void python_switch_begin(struct python_switch *s, enum inject_op op);
void python_switch_step(struct python_switch *s, const struct python_tools *tools);

/* At the deadline. An activation that was not made is cancelled, so that it is never made; one that has
 * begun is not settled: make steps until it is. A deactivation stays queued: it is made when the program
 * next runs Python code. */
void python_switch_give_up(struct python_switch *s, const struct python_tools *tools);

/* Removes our pages, if a thread is at a point that shows that nobody uses them. True: they are
 * removed, or there are none. */
bool python_switch_clean(struct python_switch *s, const struct python_tools *tools);

/* A child that a process forked. is_on: it inherited a trampoline that we switched on, and not the user;
 * a child that has executed another program inherits nothing. */
void python_switch_fork(struct python_switch *child, const struct procfs *procfs,
			const struct python_switch *parent);

#endif
