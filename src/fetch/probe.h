/* SPDX-License-Identifier: Apache-2.0 */
/* What fetching will find when the time comes, tried beforehand in a process of the same kind. */
#ifndef FETCH_PROBE_H
#define FETCH_PROBE_H

#include <stdbool.h>

#include "fetch/fetcher.h"

/* FETCH_FETCHED: it can be done; FETCH_NO_CLIENT; FETCH_UNAVAILABLE: no process of it runs. Where we
 * are root and wants_nobody, also whether it can be done as nobody. */
enum fetch_result probe_client(const char *program, char *const env[], bool wants_nobody,
			       bool *ret_as_nobody);

#endif
