/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns records and events into samples: records are queued until everything that happened before
 * them is known, their walks are finished, the world resolves them, and they are delivered to the
 * sinks of their origin. The bytes and events may come from any source: the session reads them from
 * the kernel, tests from a recording.
 */
#ifndef CAPTURE_PIPE_H
#define CAPTURE_PIPE_H

#include "base/cleanup.h"
#include "capture/record_queue.h"
#include "sample/sink.h"
#include "stacks/waiting_samples.h"
#include "world/world.h"

#define PIPE_MAX_ORIGINS 8
#define PIPE_MAX_SINKS 8 /* per origin */

/* Counts of one origin; what became of the other samples is counted by the sinks. A sample whose
 * value is sent separately counts as none. */
struct pipe_stats {
	uint64_t nr_records; /* samples read from the ring, and intervals summed up */
	uint64_t nr_bad;     /* of nr_records: invalid */
	/* of nr_records: lost for lack of memory; all others reached the sinks */
	uint64_t nr_no_memory;
};

struct pipe_origin {
	const struct sample_sink *sinks[PIPE_MAX_SINKS]; /* borrowed */
	unsigned int nr_sinks;
	struct pipe_stats stats;
};

struct pipe {
	struct world *world; /* borrowed */
	struct record_queue queue;
	struct waiting_samples waiting; /* samples that wait for unwind tables */
	struct pipe_origin origins[PIPE_MAX_ORIGINS];
	uint64_t nr_bad_origin; /* records of an origin without a sink */
	bool has_published;     /* something was published in the last turn */
	uint64_t turn_ns;       /* start of this turn */
};

int pipe_new(struct world *w, struct pipe **ret_pipe);
struct pipe *pipe_free(struct pipe *p);
DEFINE_CLEANUP(struct pipe *, pipe_free)

/* From now on that sink gets the samples of an origin, and all events. -E2BIG. */
int pipe_add_sink(struct pipe *p, uint8_t origin, const struct sample_sink *sink);

/* `by` replaces `sink`: each sample goes to exactly one of the two. -ENOENT. */
int pipe_replace_sink(struct pipe *p, uint8_t origin, const struct sample_sink *sink,
		      const struct sample_sink *by);

/* Begins a turn: the ring is drained after this, and pipe_settle() ends it. */
void pipe_begin_turn(struct pipe *p);

/* Queues a record from the ring. ctx is the pipe (see ring_record_fn). */
int pipe_record(void *ctx, const void *bytes, size_t size);

/* Passes the sum of off-CPU intervals to the sinks of its origin at once. ctx is the pipe (see
 * trigger_sum_fn). */
void pipe_sum(void *ctx, uint32_t origin, const struct wait_sum *sum);

/* Passes an event to the world and to every sink at once. ctx is the pipe (see sideband_fn). */
int pipe_event(void *ctx, const struct process_event *e);

/* Turns queued records into samples; every older event must have been passed before. Waits for the
 * rest of incomplete stacks, unless is_last. Negative: a sink failed. */
int pipe_settle(struct pipe *p, bool is_last);

/* Becomes readable when a waiting sample can continue; -1: none ever will. */
int pipe_fd(const struct pipe *p);

/* True if the next turn should come soon: a stack is incomplete, or mappings were published that
 * the process may have replaced at that very moment. */
bool pipe_is_in_a_hurry(const struct pipe *p);

const struct pipe_stats *pipe_stats(const struct pipe *p, uint8_t origin);

#endif
