/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/exit_status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int exit_status_of_stdout(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	(void)fprintf(stderr, "perf-agent: cannot write to standard output: %s\n", strerror(errno));
	return EXIT_STATUS_FAILED;
}
