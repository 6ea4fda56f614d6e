/* SPDX-License-Identifier: Apache-2.0 */
#include "digest/truncations.h"

#include <errno.h>

#include "base/array.h"
#include "digest/labels.h"

static uint32_t outermost_mapping(const struct profile *p, const struct profile_sample *s)
{
	const struct profile_span *stack = &p->stacks[s->stack];

	if (!stack->nr)
		return PROFILE_NONE;
	return p->locations[p->frames[stack->first + stack->nr - 1]].mapping;
}

static int by_place(const void *a, const void *b)
{
	const struct truncation *x = a, *y = b;

	if (x->reason != y->reason)
		return x->reason < y->reason ? -1 : 1;
	if (x->mapping != y->mapping)
		return x->mapping < y->mapping ? -1 : 1;
	return 0;
}

static int by_count(const void *a, const void *b)
{
	const struct truncation *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return by_place(a, b);
}

static void add_truncation(void *to, const void *more)
{
	((struct truncation *)to)->count += ((const struct truncation *)more)->count;
}

int digest_truncations(const struct profile *p, uint32_t label, struct truncation **ret_truncations,
		       uint32_t *ret_nr)
{
	struct truncation *truncations = calloc((size_t)p->nr_samples + 1, sizeof(*truncations));
	uint32_t nr = 0;

	if (!truncations)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		uint32_t reason = label_text(p, s->labels, label);

		if (reason)
			truncations[nr++] = (struct truncation){ reason, outermost_mapping(p, s),
								 profile_count(p, i) };
	}
	nr = array_merge(truncations, nr, sizeof(*truncations), by_place, add_truncation);
	qsort(truncations, nr, sizeof(*truncations), by_count);
	*ret_truncations = truncations;
	*ret_nr = nr;
	return 0;
}
