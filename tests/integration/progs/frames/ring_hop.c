// SPDX-License-Identifier: Apache-2.0
/* One of the three libraries of ring.c: HOP is its function, FRAME_BYTES the size of its frame. */
#include "ring_hop.h"

#include "frames.h"

uint64_t HOP(const struct ring *r, unsigned int left, uint64_t x)
{
	volatile char room[FRAME_BYTES];
	struct many m = many_from(x);

	room[x % FRAME_BYTES] = (char)left;
	x = left > 1 ? r->hops[(left - 1) % 3](r, left - 1, x) : r->bottom(r, 0, x);
	return x + many_sum(m) + (uint64_t)room[x % FRAME_BYTES];
}
