/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a summary's list by file: mappings that are one place to the reader, and their samples. */
#ifndef AGENT_SUMMARY_PLACES_H
#define AGENT_SUMMARY_PLACES_H

#include <stdint.h>

struct summary_place {
	/* Mappings with equal ids and texts are one place. */
	uint32_t ids[2];
	const char *texts[2]; /* borrowed; may be NULL */

	uint32_t mapping;    /* the one with the most samples */
	uint64_t nr_most;    /* its samples */
	uint64_t nr_samples; /* of all mappings of the place */
};

/* Merges equal places and sorts them, most samples first. Returns how many remain; adds up their
 * samples. */
uint32_t summary_places_merge(struct summary_place *places, uint32_t nr, uint64_t *ret_nr_samples);

#endif
