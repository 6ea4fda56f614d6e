/* SPDX-License-Identifier: Apache-2.0 */
/* Which servers failed, how and how often, as far as a user can act on it. */
#ifndef FETCH_FAILURES_H
#define FETCH_FAILURES_H

#include "fetch/debuginfod_log.h"
#include "fetch/fetcher.h"

struct failures {
	struct fetch_failure items[FETCH_MAX_FAILURES];
	unsigned int nr;
};

/* Why this server's reply did not help a request with this result, as far as the server is to
 * blame. */
bool failure_of(const struct server_reply *a, enum fetch_result result,
		struct fetch_failure *ret_failure);

/* Counts it. */
void failures_add(struct failures *f, const struct fetch_failure *one);

#endif
