/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "fetch/debuginfod_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct server_replies a;

	debuginfod_log_parse((const char *)data, size, &a);
	for (size_t i = 0; i < DEBUGINFOD_LOG_MAX_SERVERS; i++)
		if (a.items[i].reason >= NR_FETCH_REASONS ||
		    !memchr(a.items[i].server, '\0', FETCH_SERVER_SIZE) ||
		    (!a.items[i].server[0] && a.items[i].reason != FETCH_REASON_NO_ANSWER))
			abort(); /* a reason of nobody */
	return 0;
}
