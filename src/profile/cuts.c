/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/cuts.h"

#include <errno.h>

#include "profile/profile.h"

/* The value of a string label of a sample; 0: it has none. */
static uint32_t label_value(const struct profile *p, const struct profile_sample *s, uint32_t key)
{
	const struct profile_span *set = &p->label_sets[s->labels];

	for (uint32_t i = 0; i < set->nr; i++)
		if (p->labels[set->first + i].key == key)
			return p->labels[set->first + i].str;
	return 0;
}

static uint32_t outermost_mapping(const struct profile *p, const struct profile_sample *s)
{
	const struct profile_span *stack = &p->stacks[s->stack];

	if (!stack->nr)
		return PROFILE_NONE;
	return p->locations[p->frames[stack->first + stack->nr - 1]].mapping;
}

static int by_place(const void *a, const void *b)
{
	const struct profile_cut *x = a, *y = b;

	if (x->reason != y->reason)
		return x->reason < y->reason ? -1 : 1;
	if (x->mapping != y->mapping)
		return x->mapping < y->mapping ? -1 : 1;
	return 0;
}

static int by_count(const void *a, const void *b)
{
	const struct profile_cut *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return by_place(a, b);
}

/* Equal places, side by side, become one. */
static uint32_t sum_up(struct profile_cut *cuts, uint32_t nr)
{
	uint32_t to = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (to && by_place(&cuts[to - 1], &cuts[i]) == 0)
			cuts[to - 1].count += cuts[i].count;
		else
			cuts[to++] = cuts[i];
	}
	return to;
}

int profile_cuts(const struct profile *p, uint32_t label, struct profile_cut **ret_cuts,
		 uint32_t *ret_nr)
{
	struct profile_cut *cuts = calloc((size_t)p->nr_samples + 1, sizeof(*cuts));
	uint32_t nr = 0;

	if (!cuts)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		uint32_t reason = label_value(p, s, label);

		if (reason)
			cuts[nr++] = (struct profile_cut){ reason, outermost_mapping(p, s),
							   s->values[0] };
	}
	qsort(cuts, nr, sizeof(*cuts), by_place);
	nr = sum_up(cuts, nr);
	qsort(cuts, nr, sizeof(*cuts), by_count);
	*ret_cuts = cuts;
	*ret_nr = nr;
	return 0;
}
