/* SPDX-License-Identifier: Apache-2.0 */
#include "names/naming_budget.h"

void naming_budget_init(struct naming_budget *b)
{
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->freed, NULL);
	b->used_bytes = 0;
}

void naming_budget_done(struct naming_budget *b)
{
	pthread_cond_destroy(&b->freed);
	pthread_mutex_destroy(&b->lock);
}

static bool has_room(const struct naming_budget *b, uint64_t bytes)
{
	return !b->used_bytes || (b->used_bytes <= NAMING_BUDGET_BYTES &&
				  bytes <= NAMING_BUDGET_BYTES - b->used_bytes);
}

void naming_budget_take(struct naming_budget *b, uint64_t bytes)
{
	pthread_mutex_lock(&b->lock);
	while (!has_room(b, bytes))
		pthread_cond_wait(&b->freed, &b->lock);
	b->used_bytes += bytes;
	pthread_mutex_unlock(&b->lock);
}

void naming_budget_give(struct naming_budget *b, uint64_t bytes)
{
	pthread_mutex_lock(&b->lock);
	b->used_bytes -= bytes;
	pthread_cond_broadcast(&b->freed);
	pthread_mutex_unlock(&b->lock);
}
