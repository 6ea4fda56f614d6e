/* SPDX-License-Identifier: Apache-2.0 */
/* Plain arrays: growth by doubling, up to a maximum that the caller gives, and merging of equal items. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Grows *items (item_size bytes each, *cap of them) to hold at least need items. -E2BIG beyond
 * max_items, -ENOMEM. On failure nothing has changed.
 */
static inline int array_reserve(void **items, uint32_t *cap, size_t need, size_t item_size,
				size_t max_items)
{
	size_t want = *cap ? *cap : 16;
	void *grown;

	if (need <= *cap)
		return 0;
	if (need > max_items || max_items > UINT32_MAX)
		return -E2BIG;
	while (want < need)
		want *= 2;
	if (want > max_items)
		want = max_items;
	grown = reallocarray(*items, want, item_size);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	*cap = (uint32_t)want;
	return 0;
}

/* ARRAY_RESERVE(thing->items, thing->cap_items, thing->nr_items + 1, THING_MAX_ITEMS) */
#define ARRAY_RESERVE(items, cap, need, max_items)                                                 \
	array_reserve((void **)&(items), &(cap), (need), sizeof(*(items)), (max_items))

/*
 * Sorts nr items of item_size bytes each and merges those that compare equal: the first absorbs the
 * others. Returns how many remain.
 */
static inline uint32_t array_merge(void *items, uint32_t nr, size_t item_size,
				   int (*compare)(const void *, const void *),
				   void (*absorb)(void *to, const void *more))
{
	char *last = items, *next = items;
	uint32_t nr_left = nr ? 1 : 0;

	if (nr)
		qsort(items, nr, item_size, compare);
	for (uint32_t i = 1; i < nr; i++) {
		next += item_size;
		if (compare(last, next) == 0) {
			absorb(last, next);
			continue;
		}
		last += item_size;
		memmove(last, next, item_size);
		nr_left++;
	}
	return nr_left;
}

#endif
