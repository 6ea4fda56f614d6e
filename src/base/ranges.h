/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates ranges of the numbers [0, size) and frees them: first fit, neighbours merged. */
#ifndef BASE_RANGES_H
#define BASE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#define RANGES_MAX_FREE (1u << 20) /* number of pieces */

struct range {
	uint32_t first, nr;
};

struct ranges {
	struct range *free; /* owned; sorted, no two adjacent */
	uint32_t nr_free, cap_free;
	uint32_t nr_left; /* count of free numbers */
};

int ranges_init(struct ranges *r, uint32_t size);
void ranges_done(struct ranges *r);

/* Allocates nr consecutive numbers. -ENOSPC: no free range is that long. */
int ranges_take(struct ranges *r, uint32_t nr, uint32_t *ret_first);

/* Frees an allocated range or a part of it. -ENOMEM: it remains allocated. */
int ranges_give(struct ranges *r, uint32_t first, uint32_t nr);

#endif
