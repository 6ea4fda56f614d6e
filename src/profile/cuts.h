/* SPDX-License-Identifier: Apache-2.0 */
/* Where stacks were cut: in which file's code the walk stood when it gave up, and why. */
#ifndef PROFILE_CUTS_H
#define PROFILE_CUTS_H

#include <stdint.h>

struct profile;

struct profile_cut {
	uint32_t reason;  /* string: the value of the label */
	uint32_t mapping; /* of the outermost frame; PROFILE_NONE: it has none */
	int64_t count;    /* of values[0] */
};

/* Of samples that carry the string label `label`, by reason and mapping, the most first; the caller
 * frees the array. */
int profile_cuts(const struct profile *p, uint32_t label, struct profile_cut **ret_cuts,
		 uint32_t *ret_nr);

#endif
