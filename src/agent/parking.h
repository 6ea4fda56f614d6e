/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that wait for an unwind table, with their copies of the stack. Of the session's thread. */
#ifndef AGENT_PARKING_H
#define AGENT_PARKING_H

#include "agent/unwinder.h"

/* What the budget of copied stacks allows in two seconds; a table takes milliseconds. */
#define PARKING_MAX_BYTES (64u << 20)

struct parked {
	struct parked *next;
	uint32_t file;     /* whose table it waits for, see unwind_files.h */
	uint32_t nr_tries; /* each table on its way is one */
	size_t bytes;
	const struct pa_sample *sample; /* in `records` */
	struct stack_copy stack;        /* its pages are in `records` */
	uint64_t records[];
};

struct parking {
	struct parked *first, **end; /* owned; in the order of arrival */
	size_t bytes;
};

void parking_init(struct parking *p);
void parking_done(struct parking *p);

/* A copy of a sample (of size bytes) and its stack. -ENOSPC: over the limit; -ENOMEM. */
int parking_add(struct parking *p, const struct pa_sample *s, size_t size,
		const struct stack_copy *stack, uint32_t file);

/* Takes the first one out that `is_due` says is; NULL: none is. The caller frees it, or gives it
 * back at the end of the row. */
typedef bool (*parked_due_fn)(void *ctx, const struct parked *p);
struct parked *parking_take(struct parking *p, parked_due_fn is_due, void *ctx);
void parking_give_back(struct parking *p, struct parked *one);

/* When the oldest sample was taken; UINT64_MAX: there is none. */
uint64_t parking_oldest_ns(const struct parking *p);

#endif
