/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of each of the kernel's sums was passed on before: the kernel adds to them until the end,
 * so each reading passes only what was added since the last one.
 */
#ifndef COLLECT_PASSED_SUMS_H
#define COLLECT_PASSED_SUMS_H

#include "base/idtable.h"
#include "bpf/wait.h"

struct passed_sum {
	uint64_t id;
	struct pa_wait_sum sums[PA_NR_WAIT_STATES];
};

struct passed_sums {
	struct passed_sum *all; /* owned */
	uint32_t nr, cap;
	struct idtable by_id;
};

void passed_sums_done(struct passed_sums *p);

/* NULL: nothing was passed. Valid until the next passed_sums_get(). */
struct passed_sum *passed_sums_find(const struct passed_sums *p, uint64_t id);

/* The entry of a stack, all 0 at first. -ENOMEM; -E2BIG. */
int passed_sums_get(struct passed_sums *p, uint64_t id, struct passed_sum **ret_sum);

#endif
