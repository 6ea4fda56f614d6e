/* SPDX-License-Identifier: Apache-2.0 */
/* Structures of the caller that begin with their size, and may grow at their end. */
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"

#define SIZED_MAX_BYTES 4096 /* limit for the size of such a structure in any newer library */

/* The size of a structure whose last member is this one, without padding. */
#define SIZED_UP_TO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/* Members are aligned and have at most the size of a pointer, so a multiple of that divides none. */
static inline bool sized_is_valid(size_t sz, size_t min)
{
	return sz >= min && sz <= SIZED_MAX_BYTES && sz % sizeof(void *) == 0;
}

/* Checks whether the structure at `from` can be read: it must have at least min bytes, and bytes
 * beyond `known` must be zero. -EINVAL: its size is invalid; -E2BIG: it uses fields of a newer
 * library. */
static inline int sized_check(const void *from, size_t min, size_t known)
{
	const char *bytes = from;
	size_t sz;

	memcpy(&sz, from, sizeof(sz));
	if (!sized_is_valid(sz, min))
		return -EINVAL;
	for (size_t i = known; i < sz; i++)
		if (bytes[i])
			return -E2BIG;
	return 0;
}

/* Copies the fields that both sides know; the rest of `to`, which has `known` bytes, is unchanged.
 * from NULL: nothing is copied. Errors are those of sized_check(). */
static inline int sized_copy(void *to, const void *from, size_t min, size_t known)
{
	size_t sz;
	int r = from ? sized_check(from, min, known) : 0;

	if (r < 0 || !from)
		return r;
	memcpy(&sz, from, sizeof(sz));
	memcpy(to, from, sz < known ? sz : known);
	return 0;
}

/* The message for a negative result r of sized_check(): what is the member or argument at fault, type its
 * structure. Returns r. */
static inline int sized_error(struct pa_error *err, int r, const char *what, const char *type,
			      const void *from, size_t known)
{
	size_t sz;

	memcpy(&sz, from, sizeof(sz));
	if (r == -E2BIG)
		return error_set(
			err, E2BIG,
			"%s: members of struct %s are set that this library does not have: "
			"the caller was built for a newer library",
			what, type);
	return error_set(
		err, -r,
		"%s.sz is %zu, which is not the size of a struct %s: set it to sizeof(struct "
		"%s), %zu in this library, and the rest to zero",
		what, sz, type, type, known);
}

#endif
