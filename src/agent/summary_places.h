/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a summary's list by file: mappings that are the same place to the reader, with their
 * samples. */
#ifndef AGENT_SUMMARY_PLACES_H
#define AGENT_SUMMARY_PLACES_H

#include <stdint.h>

struct profile;
struct truncation;

struct summary_place {
	/* Mappings with equal ids and texts are the same place. */
	uint32_t ids[2];
	const char *texts[2]; /* borrowed; may be NULL */

	uint32_t mapping;    /* the mapping with the most samples */
	uint64_t nr_most;    /* samples of that mapping */
	uint64_t nr_samples; /* samples of all mappings of the place */
};

struct summary_places {
	struct summary_place *all; /* owned */
	uint32_t nr;
	uint64_t nr_samples; /* of all of them */
};

/* Merges equal places and sorts them, most samples first. Returns the number that remain; adds up
 * their samples. */
uint32_t summary_places_merge(struct summary_place *places, uint32_t nr, uint64_t *ret_nr_samples);

/* As merged, for the truncated stacks of a profile. key: that of the label with the reason; place_of
 * gives the place of one. The caller frees ret_places->all. -ENOMEM. */
int summary_places_of_truncations(const struct profile *p, uint32_t key,
				  struct summary_place (*place_of)(const void *ctx,
								   const struct truncation *t),
				  const void *ctx, struct summary_places *ret_places);

#endif
