/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a summary's list by file: mappings that are the same place to the reader, with their
 * samples. */
#ifndef AGENT_SUMMARY_PLACES_H
#define AGENT_SUMMARY_PLACES_H

#include <stdint.h>

struct summary_place {
	/* Mappings with equal ids and texts are the same place. */
	uint32_t ids[2];
	const char *texts[2]; /* borrowed; may be NULL */

	uint32_t mapping;    /* the mapping with the most samples */
	uint64_t nr_most;    /* samples of that mapping */
	uint64_t nr_samples; /* samples of all mappings of the place */
};

/* Merges equal places and sorts them, most samples first. Returns the number that remain; adds up
 * their samples. */
uint32_t summary_places_merge(struct summary_place *places, uint32_t nr, uint64_t *ret_nr_samples);

#endif
