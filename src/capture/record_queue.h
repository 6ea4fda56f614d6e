/* SPDX-License-Identifier: Apache-2.0 */
/* Queues records from the ring, in order, until all events before them are known. */
#ifndef CAPTURE_RECORD_QUEUE_H
#define CAPTURE_RECORD_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "bpf/abi.h"
#include "stacks/unwinder.h"

struct record_queue {
	struct buf bytes; /* owned; each record after its size, aligned for 8-byte fields */
};

/* A record in the queue; borrowed until records are added or dropped. */
struct queued {
	const struct pa_record *head;
	size_t size;
	size_t next; /* position of the next record */
};

void record_queue_init(struct record_queue *q);
void record_queue_done(struct record_queue *q);

/* -ENOMEM, -E2BIG. */
int record_queue_add(struct record_queue *q, const void *bytes, size_t size);

/* The record at a position; the first is at 0. False: there are no more. */
bool record_queue_at(const struct record_queue *q, size_t at, struct queued *ret);

/* Drops everything before that position. */
void record_queue_drop(struct record_queue *q, size_t before);

/* True if the sizes in a sample agree with the record's. */
bool queued_sample_is_whole(const struct queued *q);

/* True if all pages of its stack are in the queue, except those that were lost. */
bool record_queue_has_stack(const struct record_queue *q, const struct queued *sample);

/* Collects the registers after a sample's frames, and the pages that follow it. */
void record_queue_gather_stack(const struct record_queue *q, const struct queued *sample,
			       struct stack_copy *ret);

#endif
