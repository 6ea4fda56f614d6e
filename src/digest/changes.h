/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of two profiles side by side. They are the same if their names and the names of their files
 * without directories are: another build has other addresses, and may have been installed elsewhere.
 */
#ifndef DIGEST_CHANGES_H
#define DIGEST_CHANGES_H

#include <stdint.h>

struct functions;

/* Sums of one function, or of several of one profile that are the same here. */
struct change_side {
	uint32_t function; /* the first, see digest/functions.h; PROFILE_NONE: there is none */
	int64_t self;
	int64_t total; /* a stack counts once */
};

struct change {
	struct change_side base, now;
};

struct changes {
	int64_t base_sum, now_sum; /* of all samples */
	struct change *list;       /* the caller frees it */
	uint32_t nr;
};

/* Sorted by how much the share of self changed, then that of total, then by name. A share is of the sum of its
 * own profile, so that two captures of different length can be compared. */
int digest_changes(const struct functions *base, const struct functions *now,
		   struct changes *ret_changes);

/* By how much a share changed: between -1 and 1. */
double changes_of_self(const struct changes *all, const struct change *c);
double changes_of_total(const struct changes *all, const struct change *c);

#endif
