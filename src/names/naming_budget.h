/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits the memory of files that are read at the same time. A reader waits while the limit would be
 * exceeded; a file larger than the limit is read alone. The memory of one file does not depend on how many
 * are read, so neither do its symbols.
 */
#ifndef NAMES_NAMING_BUDGET_H
#define NAMES_NAMING_BUDGET_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define NAMING_BUDGET_BYTES (512ull << 20) /* two readers of DWARF with full caches */

struct naming_budget {
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t freed;
	uint64_t used_bytes;
};

void naming_budget_init(struct naming_budget *b);
void naming_budget_done(struct naming_budget *b);

/* Waits for room. May be called by any thread, but a thread that holds memory must not take
 * more. */
void naming_budget_take(struct naming_budget *b, uint64_t bytes);
void naming_budget_give(struct naming_budget *b, uint64_t bytes);

#endif
