/* SPDX-License-Identifier: Apache-2.0 */
/* Hands out ranges of numbers [0, size) and takes them back: first fit, neighbours joined. */
#ifndef BASE_RANGES_H
#define BASE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#define RANGES_MAX_FREE (1u << 20) /* pieces */

struct range {
	uint32_t first, nr;
};

struct ranges {
	struct range *free; /* owned; sorted, no two touch */
	uint32_t nr_free, cap_free;
	uint32_t nr_left; /* numbers that are free */
};

int ranges_init(struct ranges *r, uint32_t size);
void ranges_done(struct ranges *r);

/* nr numbers in one piece. -ENOSPC: there is no such piece. */
int ranges_take(struct ranges *r, uint32_t nr, uint32_t *ret_first);

/* What was taken, whole or in part. -ENOMEM: it stays taken. */
int ranges_give(struct ranges *r, uint32_t first, uint32_t nr);

#endif
