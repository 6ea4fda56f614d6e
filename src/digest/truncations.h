/* SPDX-License-Identifier: Apache-2.0 */
/* Where stacks were truncated: the file in whose code unwinding stopped, and the reason. */
#ifndef DIGEST_TRUNCATIONS_H
#define DIGEST_TRUNCATIONS_H

#include <stdint.h>

struct profile;

struct truncation {
	uint32_t reason;  /* string: the value of the label */
	uint32_t mapping; /* of the outermost frame found; PROFILE_NONE: there is none */
	int64_t count;    /* of events; see profile_count() */
};

/* Samples that have the string label `label`, by reason and mapping, most frequent first; the
 * caller frees the array. */
int digest_truncations(const struct profile *p, uint32_t label, struct truncation **ret_truncations,
		       uint32_t *ret_nr);

#endif
