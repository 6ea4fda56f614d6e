/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DIGEST_SUMS_H
#define DIGEST_SUMS_H

#include <stdint.h>

/* Sums of counts do not overflow in a valid profile; in a broken one they saturate. */
static inline int64_t add_saturated(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

#endif
