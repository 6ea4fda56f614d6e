/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that run batches, the largest first, and end after the last batch. The caller waits
 * for the batches one by one, in its own order. Without threads, a batch runs when it is waited
 * for.
 */
#ifndef NAMES_NAMING_CREW_H
#define NAMES_NAMING_CREW_H

#include "names/naming_batch.h"
#include "names/source.h"

#define NAMING_MAX_WORKERS 8u

/* The most descriptors that are open at the same time: those of each worker's source, and two for
 * each process that naming_builtins.c uses. */
#define NAMING_MAX_HELD_FDS (NAMING_MAX_WORKERS * SOURCE_MAX_FDS + NAMING_MAX_PROVIDERS * 2)

struct naming_crew;

/* nr_workers: 0: one per CPU; 1: no thread. At most one per batch, and fewer if threads cannot be
 * created. env and batches are borrowed. -ENOMEM. */
int naming_crew_new(struct naming_env *env, struct naming_batch *batches, uint32_t nr_batches,
		    unsigned int nr_workers, struct naming_crew **ret_crew);

/* Ends the threads; batches that were not begun are not run. */
struct naming_crew *naming_crew_free(struct naming_crew *crew);
DEFINE_CLEANUP(struct naming_crew *, naming_crew_free)

/* Waits until batch i has run, which then belongs to the caller. To be called once for each
 * batch. */
void naming_crew_wait(struct naming_crew *crew, uint32_t i);

#endif
