/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/summary_places.h"

#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "digest/truncations.h"

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int by_place(const void *a, const void *b)
{
	const struct summary_place *x = a, *y = b;
	int r;

	for (int i = 0; i < 2; i++)
		if (x->ids[i] != y->ids[i])
			return x->ids[i] < y->ids[i] ? -1 : 1;
	r = compare_text(x->texts[0], y->texts[0]);
	return r ? r : compare_text(x->texts[1], y->texts[1]);
}

static int by_samples(const void *a, const void *b)
{
	const struct summary_place *x = a, *y = b;

	if (x->nr_samples != y->nr_samples)
		return x->nr_samples > y->nr_samples ? -1 : 1;
	return by_place(a, b);
}

/* The mapping with the most samples represents the place; among equal ones, the first. */
static void add_place(void *left, const void *right)
{
	const struct summary_place *more = right;
	struct summary_place *to = left;

	if (more->nr_most > to->nr_most ||
	    (more->nr_most == to->nr_most && more->mapping < to->mapping)) {
		to->nr_most = more->nr_most;
		to->mapping = more->mapping;
	}
	to->nr_samples += more->nr_samples;
}

uint32_t summary_places_merge(struct summary_place *places, uint32_t nr, uint64_t *ret_nr_samples)
{
	nr = array_merge(places, nr, sizeof(*places), by_place, add_place);
	qsort(places, nr, sizeof(*places), by_samples);
	*ret_nr_samples = 0;
	for (uint32_t i = 0; i < nr; i++)
		*ret_nr_samples += places[i].nr_samples;
	return nr;
}

int summary_places_of_truncations(const struct profile *p, uint32_t key,
				  struct summary_place (*place_of)(const void *ctx,
								   const struct truncation *t),
				  const void *ctx, struct summary_places *ret_places)
{
	_cleanup_(freep) struct truncation *found = NULL;
	struct summary_places places = { 0 };
	int r = digest_truncations(p, key, &found, &places.nr);

	if (r < 0)
		return r;
	places.all = calloc((size_t)places.nr + 1, sizeof(*places.all));
	if (!places.all)
		return -ENOMEM;
	for (uint32_t i = 0; i < places.nr; i++)
		places.all[i] = place_of(ctx, &found[i]);
	places.nr = summary_places_merge(places.all, places.nr, &places.nr_samples);
	*ret_places = places;
	return 0;
}
