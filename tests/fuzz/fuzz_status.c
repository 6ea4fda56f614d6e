/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "proc/procfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proc_status st;
	uint64_t value;

	if (size && status_parse((const char *)data, size, &st) == 0 && st.ns_pid <= 0)
		abort(); /* not a PID */
	(void)auxv_parse(data, size, 25,
			 &value); /* the same bytes as the other list that is read */
	return 0;
}
