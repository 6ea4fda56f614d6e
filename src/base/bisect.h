/* SPDX-License-Identifier: Apache-2.0 */
/* Binary search over anything that can be indexed. */
#ifndef BASE_BISECT_H
#define BASE_BISECT_H

#include <stdint.h>

/*
 * BISECT(i, nr, is_before): how many of the items 0 … nr - 1 are before the place that is searched for.
 * is_before is an expression about item i; it holds for the first items and for none of the others. So
 * the result is the index of the first item for which it does not hold, or nr:
 *
 *	BISECT(i, t->nr, t->items[i].addr < addr)        the first at addr or above
 *	BISECT(i, t->nr, t->items[i].addr <= addr) - 1   the last at addr or below, unless it is -1
 *
 * Where items are not sorted the result is any of 0 … nr: is_before is asked at most 1 + log2(nr) times,
 * of items that exist.
 */
#define BISECT(i, nr, is_before)                                                                   \
	({                                                                                         \
		__typeof__((nr) + UINT32_C(0)) low_ = 0, high_ = (nr);                             \
                                                                                                   \
		while (low_ < high_) {                                                             \
			__typeof__(low_) i = low_ + (high_ - low_) / 2;                            \
                                                                                                   \
			if (is_before)                                                             \
				low_ = i + 1;                                                      \
			else                                                                       \
				high_ = i;                                                         \
		}                                                                                  \
		low_;                                                                              \
	})

#endif
