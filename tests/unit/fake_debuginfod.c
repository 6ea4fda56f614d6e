/* SPDX-License-Identifier: Apache-2.0 */
/* What test_fetch_main needs of libdebuginfod, as it was before 0.186: without a log. */
#include <errno.h>

#define PUBLIC __attribute__((visibility("default")))

PUBLIC void *debuginfod_begin(void);
PUBLIC int debuginfod_find_debuginfo(void *client, const unsigned char *id, int id_bytes,
				     char **path);

void *debuginfod_begin(void)
{
	static int client;

	return &client;
}

int debuginfod_find_debuginfo(void *client, const unsigned char *id, int id_bytes, char **path)
{
	return -ENOENT;
}
