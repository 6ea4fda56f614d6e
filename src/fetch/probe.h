/* SPDX-License-Identifier: Apache-2.0 */
/* Tests in advance, in a process of the same kind, whether fetching will work. */
#ifndef FETCH_PROBE_H
#define FETCH_PROBE_H

#include <stdbool.h>

#include "fetch/fetcher.h"

/* FETCH_FETCHED: it works; FETCH_NO_CLIENT; FETCH_UNAVAILABLE: the process cannot run. If we are
 * root and wants_nobody, also whether it works as nobody. */
enum fetch_result probe_client(const char *program, char *const env[], bool wants_nobody,
			       bool *ret_as_nobody);

#endif
