/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fd_limit.h"

#include <sys/resource.h>

void fd_limit_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit); /* with a lower limit, fewer files are kept open */
}
