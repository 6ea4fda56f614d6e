/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call tree of a profile, from the outermost frames inwards, reduced to what is worth reading:
 * branches of at least 1 % of the total, the largest ones if there are many; callers are folded
 * into one branch while one callee has nearly all of their samples. Direct recursion is one node.
 */
#ifndef DIGEST_HOT_PATHS_H
#define DIGEST_HOT_PATHS_H

#include <stdbool.h>
#include <stdint.h>

struct functions;

#define HOT_PATHS_MAX_BRANCHES 64
#define HOT_PATHS_MAX_FOLDED 16 /* rows of one branch */
#define HOT_PATHS_MAX_DEPTH 32

/* A row: value = self + rest + the values of its callees that are rows. That is the next row if it
 * continues, otherwise the following rows one level deeper. */
struct hot_path {
	uint32_t function; /* see digest/functions.h */
	uint32_t depth;
	bool continues;      /* the branch of the row before it, at the same depth */
	uint32_t nr_skipped; /* functions left out between the row before and one that continues */
	int64_t value;
	int64_t self;
	int64_t rest; /* in callees that are not rows */
};

/* In preorder; branches of one caller by size, then name. The caller frees the array. */
int digest_hot_paths(const struct functions *f, struct hot_path **ret_paths, uint32_t *ret_nr);

#endif
