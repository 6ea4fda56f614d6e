/* SPDX-License-Identifier: Apache-2.0 */
/* Growth of plain arrays: doubling, with a maximum that the caller names. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Makes *items (of item_size bytes each, *cap of them) hold at least need. -E2BIG past max_items,
 * -ENOMEM. On failure nothing has changed.
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

#endif
