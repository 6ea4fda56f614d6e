/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that run batches in a given order, and end after the last one. The caller waits for the
 * batches one by one, in an order of its own. Without threads, a batch runs when it is waited for.
 */
#ifndef NAMES_NAMING_CREW_H
#define NAMES_NAMING_CREW_H

#include "names/naming_plan.h"
#include "names/source.h"

#define NAMING_MAX_WORKERS 8u

/* The most descriptors that are open at the same time: those of each worker's source, and two for
 * each process that naming_builtins.c uses. */
#define NAMING_MAX_HELD_FDS (NAMING_MAX_WORKERS * SOURCE_MAX_FDS + NAMING_MAX_PROVIDERS * 2)

struct naming_crew;

/* Runs those of the plan's batches that are listed in order[]. As many threads as the job wants, at most
 * one per batch, and fewer if threads cannot be created. All is borrowed. -ENOMEM. */
int naming_crew_new(struct naming_env *env, const struct naming_plan *plan, const uint32_t *order,
		    uint32_t nr, struct naming_crew **ret_crew);

/* Ends the threads; batches that were not begun are not run. */
struct naming_crew *naming_crew_free(struct naming_crew *crew);
DEFINE_CLEANUP(struct naming_crew *, naming_crew_free)

/* Waits until batch i of the plan has run, which then belongs to the caller. To be called once for each
 * batch that is listed. */
void naming_crew_wait(struct naming_crew *crew, uint32_t i);

#endif
