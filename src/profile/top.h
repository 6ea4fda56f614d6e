/* SPDX-License-Identifier: Apache-2.0 */
/* The hottest functions of a model: how many samples ran in each, and had each on their stack. */
#ifndef PROFILE_TOP_H
#define PROFILE_TOP_H

#include <stdint.h>

struct profile;

struct top_function {
	uint32_t
		function; /* number in the model: of several that readers take for one, the first */
	int64_t self;     /* of values[0] */
	int64_t total;    /* a function that recurs in a stack counts once */
};

/* Every function that has samples, by self, then total, then name; the caller frees the array. */
int profile_top(const struct profile *p, struct top_function **ret_functions, uint32_t *ret_nr);

#endif
