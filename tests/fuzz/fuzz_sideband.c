/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "collect/sideband.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct process_event e = { 0 };

	if (sideband_decode(data, size, 77, &e) == 1 && e.type == EVENT_MMAP &&
	    (!e.path || e.end < e.start || strlen(e.path) > size))
		abort();
	return 0;
}
