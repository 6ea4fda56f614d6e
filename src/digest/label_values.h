/* SPDX-License-Identifier: Apache-2.0 */
/* Samples by the values of a label. */
#ifndef DIGEST_LABEL_VALUES_H
#define DIGEST_LABEL_VALUES_H

#include <stdbool.h>
#include <stdint.h>

struct profile;

struct label_value {
	bool is_missing; /* samples without the label; the members that follow are 0 */
	uint32_t str;    /* string; 0: a number */
	int64_t num;
	uint32_t unit; /* string */
	int64_t count; /* see profile_count() */
};

/* The values of the label with this key, most samples first; the caller frees the array. If a
 * sample has the label several times, the first counts. */
int digest_label_values(const struct profile *p, uint32_t key, struct label_value **ret_values,
			uint32_t *ret_nr);

#endif
