/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ranges.h"

#include <errno.h>

#include "base/array.h"
#include "base/bisect.h"

int ranges_init(struct ranges *r, uint32_t size)
{
	*r = (struct ranges){ 0 };
	return size ? ranges_give(r, 0, size) : 0;
}

void ranges_done(struct ranges *r)
{
	free(r->free);
	*r = (struct ranges){ 0 };
}

static void drop_piece(struct ranges *r, uint32_t at)
{
	r->nr_free--;
	memmove(&r->free[at], &r->free[at + 1], (r->nr_free - at) * sizeof(r->free[0]));
}

int ranges_take(struct ranges *r, uint32_t nr, uint32_t *ret_first)
{
	for (uint32_t i = 0; i < r->nr_free; i++) {
		struct range *f = &r->free[i];

		if (f->nr < nr)
			continue;
		*ret_first = f->first;
		f->first += nr;
		f->nr -= nr;
		r->nr_left -= nr;
		if (!f->nr)
			drop_piece(r, i);
		return 0;
	}
	return -ENOSPC;
}

/* Index of the first free range that begins after `first`. */
static uint32_t find_behind(const struct ranges *r, uint32_t first)
{
	return BISECT(i, r->nr_free, r->free[i].first < first);
}

int ranges_give(struct ranges *r, uint32_t first, uint32_t nr)
{
	uint32_t at = find_behind(r, first);
	bool joins_before = at > 0 && r->free[at - 1].first + r->free[at - 1].nr == first;
	bool joins_behind = at < r->nr_free && first + nr == r->free[at].first;
	int res;

	if (joins_before) {
		r->free[at - 1].nr += nr;
		if (joins_behind) {
			r->free[at - 1].nr += r->free[at].nr;
			drop_piece(r, at);
		}
	} else if (joins_behind) {
		r->free[at].first = first;
		r->free[at].nr += nr;
	} else {
		res = ARRAY_RESERVE(r->free, r->cap_free, r->nr_free + 1, RANGES_MAX_FREE);
		if (res < 0)
			return res;
		memmove(&r->free[at + 1], &r->free[at], (r->nr_free - at) * sizeof(r->free[0]));
		r->free[at] = (struct range){ first, nr };
		r->nr_free++;
	}
	r->nr_left += nr;
	return 0;
}
