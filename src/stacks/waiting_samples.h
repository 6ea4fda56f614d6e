/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that wait for an unwind table, with their copies of the stack. Used by the session's
 * thread. */
#ifndef STACKS_WAITING_SAMPLES_H
#define STACKS_WAITING_SAMPLES_H

#include "stacks/unwinder.h"

/* The budget of copied stacks for two seconds; compiling a table takes milliseconds. */
#define WAITING_MAX_BYTES (64u << 20)

struct waiting_sample {
	struct waiting_sample *next;
	uint32_t file;     /* the file whose table it waits for, see unwind_files.h */
	uint32_t nr_tries; /* number of tables it has waited for */
	size_t bytes;
	const struct pa_sample *sample; /* in `records` */
	struct stack_copy stack;        /* its pages are in `records` */
	uint64_t records[];
};

struct waiting_samples {
	struct waiting_sample *first, **end; /* owned; in the order of arrival */
	size_t bytes;
};

void waiting_samples_init(struct waiting_samples *p);
void waiting_samples_done(struct waiting_samples *p);

/* Adds a copy of a sample (of size bytes) and its stack. -ENOSPC: over the limit; -ENOMEM. */
int waiting_samples_add(struct waiting_samples *p, const struct pa_sample *s, size_t size,
			const struct stack_copy *stack, uint32_t file);

/* Removes the first sample for which `is_due` is true; NULL if there is none. The caller frees it,
 * or puts it back at the end. */
typedef bool (*waiting_due_fn)(void *ctx, const struct waiting_sample *p);
struct waiting_sample *waiting_samples_take(struct waiting_samples *p, waiting_due_fn is_due,
					    void *ctx);
void waiting_samples_give_back(struct waiting_samples *p, struct waiting_sample *one);

/* Time of the oldest sample; UINT64_MAX if there is none. */
uint64_t waiting_samples_oldest_ns(const struct waiting_samples *p);

#endif
