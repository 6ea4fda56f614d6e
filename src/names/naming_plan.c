/* SPDX-License-Identifier: Apache-2.0 */
#include "names/naming_plan.h"

#include <errno.h>

#include "names/source.h"

void naming_plan_done(struct naming_plan *plan)
{
	for (uint32_t i = 0; i < plan->nr_batches; i++)
		naming_batch_clear(&plan->batches[i]);
	free(plan->batches);
	free(plan->parts);
	free(plan->items);
	*plan = (struct naming_plan){ 0 };
}

static int by_source(const void *a, const void *b, void *ctx)
{
	const struct profile_mapping *all = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = source_compare(&all[x], &all[y]);

	return order ? order : x < y ? -1 : x > y;
}

/* Orders the mappings so that those of one source are adjacent: their numbers in order[], and the
 * position of each there. */
static void rank_mappings(const struct profile *p, uint32_t *order, uint32_t *rank)
{
	for (uint32_t i = 0; i < p->nr_mappings; i++)
		order[i] = i;
	qsort_r(order, p->nr_mappings, sizeof(*order), by_source, p->mappings);
	for (uint32_t i = 0; i < p->nr_mappings; i++)
		rank[order[i]] = i;
}

/* Orders by address within a mapping: neighbours have their debug information in the same place,
 * which is then read once. */
static int by_rank_and_address(const void *a, const void *b)
{
	const struct naming_item *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->version < y->version ? -1 : x->version > y->version;
}

/* Lists the locations to be named; those in no mapping come last. Locations that were named when
 * they were sampled are left out. */
static int list_items(struct naming_plan *plan, const struct profile *p, const uint32_t *rank)
{
	plan->items = calloc((size_t)p->nr_locations + 1, sizeof(*plan->items));
	if (!plan->items)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nr_locations; i++) {
		const struct profile_location *l = &p->locations[i];

		if (l->nr_lines)
			continue;
		plan->items[plan->nr_items++] = (struct naming_item){
			.address = l->address,
			.version = l->version,
			.location = i,
			.rank = l->mapping == PROFILE_NONE ? p->nr_mappings : rank[l->mapping],
		};
	}
	qsort(plan->items, plan->nr_items, sizeof(*plan->items), by_rank_and_address);
	return 0;
}

static bool begins_part(const struct naming_plan *plan, uint32_t item)
{
	return !item || plan->items[item - 1].rank != plan->items[item].rank;
}

static int make_parts(struct naming_plan *plan, const struct profile *p, const uint32_t *order)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < plan->nr_items; i++)
		nr += begins_part(plan, i);
	plan->parts = calloc((size_t)nr + 1, sizeof(*plan->parts));
	if (!plan->parts)
		return -ENOMEM;
	for (uint32_t i = 0; i < plan->nr_items; i++) {
		uint32_t rank = plan->items[i].rank;
		struct naming_part *part;

		plan->nr_parts += begins_part(plan, i);
		part = &plan->parts[plan->nr_parts - 1];
		part->nr_asked++;
		if (!part->nr_items++) {
			part->has_mapping = rank < p->nr_mappings;
			part->number = part->has_mapping ? order[rank] : p->nr_mappings;
			part->items = &plan->items[i];
			if (part->has_mapping)
				part->mapping = p->mappings[part->number];
		}
	}
	return 0;
}

static bool begins_batch(const struct naming_plan *plan, uint32_t part)
{
	const struct naming_part *at = &plan->parts[part];

	return !part || !at->has_mapping || source_compare(&at[-1].mapping, &at->mapping) != 0;
}

/* The size of a source. Lists and maps have no known size, and count as the largest. */
static uint64_t size_of(const struct naming_job *job, const struct naming_part *part)
{
	uint64_t size_bytes;

	if (!part->has_mapping || part->mapping.kind == PROFILE_MAPPING_VDSO)
		return 0;
	if (part->mapping.kind != PROFILE_MAPPING_FILE)
		return UINT64_MAX;
	filestore_lock(job->files);
	size_bytes = filestore_get(job->files, (uint32_t)part->mapping.owner)->size;
	filestore_unlock(job->files);
	return size_bytes;
}

static int make_batches(struct naming_plan *plan, const struct naming_job *job)
{
	plan->batches = calloc((size_t)plan->nr_parts + 1, sizeof(*plan->batches));
	if (!plan->batches)
		return -ENOMEM;
	for (uint32_t i = 0; i < plan->nr_parts; i++) {
		struct naming_batch *b;

		plan->nr_batches += begins_batch(plan, i);
		b = &plan->batches[plan->nr_batches - 1];
		if (!b->nr_parts++) {
			b->parts = &plan->parts[i];
			b->size_bytes = size_of(job, b->parts);
		}
		b->nr_asked += plan->parts[i].nr_asked;
	}
	return 0;
}

int naming_plan_init(struct naming_plan *plan, const struct naming_job *job)
{
	const struct profile *p = job->profile;
	_cleanup_(freep) uint32_t *order = calloc((size_t)p->nr_mappings + 1, sizeof(*order));
	_cleanup_(freep) uint32_t *rank = calloc((size_t)p->nr_mappings + 1, sizeof(*rank));
	int r;

	*plan = (struct naming_plan){ 0 };
	if (!order || !rank)
		return -ENOMEM;
	rank_mappings(p, order, rank);
	r = list_items(plan, p, rank);
	if (r == 0)
		r = make_parts(plan, p, order);
	if (r == 0)
		r = make_batches(plan, job);
	return r;
}

/* ---- order ---- */

/* How many frames of samples are in each mapping, and, as the last, in none; NULL: out of memory. */
static uint64_t *count_frames(const struct profile *p)
{
	uint64_t *nr = calloc((size_t)p->nr_mappings + 1, sizeof(*nr));

	for (uint32_t i = 0; nr && i < p->nr_samples; i++) {
		struct profile_span stack = p->stacks[p->samples[i].stack];

		for (uint32_t k = 0; k < stack.nr; k++) {
			uint32_t m = p->locations[p->frames[stack.first + k]].mapping;

			nr[m == PROFILE_NONE ? p->nr_mappings : m] += (uint64_t)profile_count(p, i);
		}
	}
	return nr;
}

static void weigh_batches(const struct naming_plan *plan, const uint64_t *nr_frames)
{
	for (uint32_t i = 0; i < plan->nr_batches; i++) {
		struct naming_batch *b = &plan->batches[i];

		b->nr_frames = 0;
		for (uint32_t k = 0; k < b->nr_parts; k++)
			b->nr_frames += nr_frames[b->parts[k].number];
	}
}

static int by_frames_and_size(const void *a, const void *b, void *batches)
{
	const struct naming_batch *all = batches;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (all[x].nr_frames != all[y].nr_frames)
		return all[x].nr_frames > all[y].nr_frames ? -1 : 1;
	if (all[x].size_bytes != all[y].size_bytes)
		return all[x].size_bytes > all[y].size_bytes ? -1 : 1;
	return x < y ? -1 : x > y;
}

uint32_t *naming_plan_order(const struct naming_plan *plan, const struct profile *p, bool is_hasty)
{
	_cleanup_(freep) uint64_t *nr_frames = is_hasty ? count_frames(p) : NULL;
	uint32_t *order = calloc((size_t)plan->nr_batches + 1, sizeof(*order));

	if (!order)
		return NULL;
	if (nr_frames)
		weigh_batches(plan, nr_frames);
	for (uint32_t i = 0; i < plan->nr_batches; i++)
		order[i] = i;
	qsort_r(order, plan->nr_batches, sizeof(*order), by_frames_and_size, plan->batches);
	return order;
}
