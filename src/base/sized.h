/* SPDX-License-Identifier: Apache-2.0 */
/* Structures of the caller that begin with their size, and may grow at their end. */
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define SIZED_MAX_BYTES 4096 /* limit for the size of such a structure in any newer library */

/* Checks whether the structure at `from` can be read: it must have at least min bytes, and bytes
 * beyond `known` must be zero. -EINVAL: its size is invalid; -E2BIG: it uses fields of a newer
 * library. */
static inline int sized_check(const void *from, size_t min, size_t known)
{
	const char *bytes = from;
	size_t sz;

	memcpy(&sz, from, sizeof(sz));
	if (sz < min || sz > SIZED_MAX_BYTES)
		return -EINVAL;
	for (size_t i = known; i < sz; i++)
		if (bytes[i])
			return -E2BIG;
	return 0;
}

/* Copies the fields that both sides know; the rest of `to`, which has `known` bytes, is unchanged.
 * from NULL: nothing is copied. */
static inline int sized_copy(void *to, const void *from, size_t known)
{
	size_t sz;
	int r = from ? sized_check(from, sizeof(sz), known) : 0;

	if (r < 0 || !from)
		return r;
	memcpy(&sz, from, sizeof(sz));
	memcpy(to, from, sz < known ? sz : known);
	return 0;
}

#endif
