/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session: the only place that joins the modules. pa_session_new() checks and prepares,
 * pa_session_start() attaches, then a thread of the session's own turns the crank until the capture
 * ends, names what was seen and writes it.
 */
#ifndef AGENT_SESSION_H
#define AGENT_SESSION_H

#include <perfagent/perfagent.h>
#include <pthread.h>
#include <stdatomic.h>

#include "agent/capture.h"
#include "agent/settings.h"
#include "agent/stack_budget.h"
#include "base/log.h"
#include "collect/events.h"
#include "collect/programs.h"
#include "collect/sideband.h"
#include "write/writer.h"

#define SESSION_MAX_OUTPUTS 2

struct output {
	const struct writer *writer;
	struct outfile *file; /* owned */
};

struct summary; /* agent/summary.h */

struct pa_session {
	struct settings settings;
	struct log log;
	char *cache_dir; /* owned; NULL: none */

	/* Of whoever calls new, start and free until the thread runs; then of the thread. */
	struct capture *capture;
	struct programs *programs;
	struct sideband *sideband;
	struct events *events;
	struct output outputs[SESSION_MAX_OUTPUTS];
	unsigned int nr_outputs;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t start_real_ns;
	uint64_t start_cpu_ns, end_cpu_ns, end_rss_bytes; /* what it had cost by then */
	bool targets_exited;
	uint64_t nr_ring_full; /* as of the last look */
	struct stack_budget stack_budget;

	pthread_t thread;
	bool has_thread; /* of the caller */
	int wake_fd;     /* the thread sleeps on it; owned */
	int done_fd;     /* readable when everything is written; owned */
	atomic_bool stop, hurry, cancel;
	atomic_bool is_drained;  /* every record has been read: from here on names are waited for */
	atomic_bool is_starting; /* pa_session_start() is at work, maybe on another thread */
	atomic_int phase;

	/* Set by the thread before done_fd becomes readable, read afterwards. */
	int result;
	struct pa_error error;
	struct summary *summary; /* owned */

	pthread_mutex_t lock; /* of progress */
	struct pa_progress progress;
};

/* session.c: whether /proc is there and shows our own PID namespace. */
int session_check_proc(struct pa_error *err);

/* session.c: once per turn, what stacks the kernel may copy until the next one. */
void session_refill_stack_budget(struct pa_session *s);

/* loop.c: the thread's life. */
void *session_thread(void *session);

/* targets.c: makes the targets targets, and learns what they have mapped. */
int session_add_targets(struct pa_session *s, struct pa_error *err);
/* One that had begun to exit when it became a target has nobody who says when it is gone. */
void session_recheck_targets(struct pa_session *s);
/* Whether those that are none any more have come to the end of their exit. */
bool session_targets_are_gone(struct pa_session *s);

#endif
