/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the functions of two profiles. Two functions are the same if their names, and the names
 * of their files without directories, are equal: another build has other addresses, and may be
 * installed elsewhere. For generated code, which has no file, the file is that of its source.
 */
#ifndef DIGEST_CHANGES_H
#define DIGEST_CHANGES_H

#include <stdint.h>

struct functions;

/* Sums of one function, or of several in one profile that count as the same here. */
struct change_side {
	/* the first of them, see digest/functions.h; PROFILE_NONE if there is none */
	uint32_t function;
	int64_t self;
	int64_t total; /* each stack is counted once */
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

/* The change of a share: between -1 and 1. */
double changes_of_self(const struct changes *all, const struct change *c);
double changes_of_total(const struct changes *all, const struct change *c);

#endif
