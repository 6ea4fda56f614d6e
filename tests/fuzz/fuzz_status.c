/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "proc/mountinfo.h"
#include "proc/procfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proc_status st;
	struct mount_line mount;
	uint64_t value;

	if (size && status_parse((const char *)data, size, &st) == 0 && st.ns_pid <= 0)
		abort(); /* not a PID */
	/* The same bytes as the other lists that are read. */
	(void)auxv_parse(data, size, 25, &value);
	if (size)
		(void)mountinfo_parse((const char *)data, size, &mount);
	return 0;
}
