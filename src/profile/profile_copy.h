/* SPDX-License-Identifier: Apache-2.0 */
/* Copies stacks and label sets from one profile to another, with everything they refer to. */
#ifndef PROFILE_PROFILE_COPY_H
#define PROFILE_PROFILE_COPY_H

#include "profile/profile.h"

struct profile_copy {
	const struct profile *from; /* borrowed; does not change meanwhile */
	struct profile *to;         /* borrowed */
	/* Owned; by number in `from`: the number in `to` plus 1, 0: not copied yet */
	uint32_t *locations;
};

/* -ENOMEM. */
int profile_copy_init(struct profile_copy *c, const struct profile *from, struct profile *to);
void profile_copy_done(struct profile_copy *c);

/* The number of a copy, or of the same item if there is one. Fails like profile_stack_of() and
 * profile_label_set(). */
int profile_copy_stack(struct profile_copy *c, uint32_t stack, uint32_t *ret_id);
int profile_copy_labels(struct profile_copy *c, uint32_t labels, uint32_t *ret_id);

#endif
