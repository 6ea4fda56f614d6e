/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that files which are read at the same time may take together. Who would go past it waits
 * until others are done; a file that is larger than all of it is read while no other is. What one
 * file gets does not depend on how many are read, so the names do not either.
 */
#ifndef AGENT_NAMING_BUDGET_H
#define AGENT_NAMING_BUDGET_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define NAMING_BUDGET_BYTES (512ull << 20) /* two readers of DWARF with full caches */

struct naming_budget {
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t freed;
	uint64_t used_bytes;
};

void naming_budget_init(struct naming_budget *b);
void naming_budget_done(struct naming_budget *b);

/* Waits for room. Whoever holds some must not ask for more. Any thread, as below. */
void naming_budget_take(struct naming_budget *b, uint64_t bytes);
void naming_budget_give(struct naming_budget *b, uint64_t bytes);

#endif
