/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"

#include <stdio.h>
#include <string.h>

const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

size_t path_label_bytes(const char *name)
{
	const char *so = strstr(name, ".so");
	size_t n;

	while (so && so[3] != '\0' && so[3] != '.')
		so = strstr(so + 1, ".so");
	n = so && so > name ? (size_t)(so - name) : strlen(name);
	return n < PATH_LABEL_MAX_BYTES ? n : PATH_LABEL_MAX_BYTES;
}

char *path_dir(const char *path)
{
	size_t n = (size_t)(path_name(path) - path);

	if (n == 0)
		return strdup(".");
	return strndup(path, n > 1 ? n - 1 : n);
}

char *path_beside(const char *path, const char *part)
{
	const char *name = path_name(path);
	size_t stem = *name ? 1 + strcspn(name + 1, ".") : 0; /* a hidden file stays hidden */
	char *beside;

	stem += (size_t)(name - path);
	return asprintf(&beside, "%.*s-%s%s", (int)stem, path, part, path + stem) < 0 ? NULL
										      : beside;
}
