/* SPDX-License-Identifier: Apache-2.0 */
/* Which servers failed, how and how often: what a user can act on. */
#ifndef FETCH_FAILURES_H
#define FETCH_FAILURES_H

#include "fetch/answers.h"
#include "fetch/fetcher.h"

struct failures {
	struct fetch_failure items[FETCH_MAX_FAILURES];
	unsigned int nr;
};

/* Why the server of this answer did not help a request that ended so, as far as it is to blame. */
bool failure_of(const struct answer *a, enum fetch_result result,
		struct fetch_failure *ret_failure);

/* Counts it. */
void failures_add(struct failures *f, const struct fetch_failure *one);

#endif
