/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fetch/cache.h"

#define NAME "perf-agent/debuginfo"

/* Under sudo, HOME may still be the caller's: root must not leave folders of its own there. */
static bool is_own_folder(const char *path)
{
	struct stat st;

	return path && path[0] == '/' && stat(path, &st) == 0 && st.st_uid == geteuid();
}

const char *cache_default_dir(char *path)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n = -1;

	if (is_own_folder(cache))
		n = snprintf(path, PATH_MAX, "%s/" NAME, cache);
	else if (is_own_folder(home))
		n = snprintf(path, PATH_MAX, "%s/.cache/" NAME, home);
	else if (geteuid() == 0)
		n = snprintf(path, PATH_MAX, "/var/cache/" NAME);
	return n > 0 && n < PATH_MAX ? path : NULL;
}
