/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that run batches, the largest first. They end with their last batch; whoever made the
 * crew waits for the batches one by one, in an order of its own. Without threads a batch is run when
 * it is waited for.
 */
#ifndef AGENT_NAMING_CREW_H
#define AGENT_NAMING_CREW_H

#include "agent/naming_batch.h"

#define NAMING_MAX_WORKERS 8u

struct naming_crew;

/* nr_workers: 0: as many as there are CPUs; 1: no thread. Never more than batches, and where threads
 * cannot be had, fewer. env and batches are borrowed. -ENOMEM. */
int naming_crew_new(struct naming_env *env, struct naming_batch *batches, uint32_t nr_batches,
		    unsigned int nr_workers, struct naming_crew **ret_crew);

/* Ends the threads; what they have not begun is not run. */
struct naming_crew *naming_crew_free(struct naming_crew *crew);
DEFINE_CLEANUP(struct naming_crew *, naming_crew_free)

/* Until batch i has run; from then on it is the caller's. Once for each batch. */
void naming_crew_wait(struct naming_crew *crew, uint32_t i);

#endif
