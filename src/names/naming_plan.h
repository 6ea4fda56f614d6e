/* SPDX-License-Identifier: Apache-2.0 */
/* All locations of a model, divided into batches, with a copy of what naming needs to know about
 * them. */
#ifndef NAMES_NAMING_PLAN_H
#define NAMES_NAMING_PLAN_H

#include "names/naming_batch.h"

struct naming_plan {
	struct naming_item *items; /* owned; by source, mapping, address */
	uint32_t nr_items;
	struct naming_part *parts; /* owned; in the order of the items; none is empty */
	uint32_t nr_parts;
	struct naming_batch *batches; /* owned; in the order of the parts */
	uint32_t nr_batches;
};

/* -ENOMEM: naming_plan_done() must be called then, too. */
int naming_plan_init(struct naming_plan *plan, const struct naming_job *job);
void naming_plan_done(struct naming_plan *plan);

/* The order in which batches are to be run, which the caller frees; NULL: out of memory. The largest come
 * first; if the job is hasty, those with most frames of samples. */
uint32_t *naming_plan_order(const struct naming_plan *plan, const struct profile *p, bool is_hasty);

#endif
