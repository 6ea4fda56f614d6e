/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"

#include <string.h>

const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *path_dir(const char *path)
{
	size_t n = (size_t)(path_name(path) - path);

	if (n == 0)
		return strdup(".");
	return strndup(path, n > 1 ? n - 1 : n);
}
