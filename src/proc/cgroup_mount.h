/* SPDX-License-Identifier: Apache-2.0 */
/* Where cgroup v2 is mounted: finds the path of a cgroup by its ID. */
#ifndef PROC_CGROUP_MOUNT_H
#define PROC_CGROUP_MOUNT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cgroup_mount {
	int fd; /* owned; -1: none that shows the same paths as /proc */
	char path[PATH_MAX];
	size_t len; /* of path */
};

void cgroup_mount_open(struct cgroup_mount *m);
void cgroup_mount_done(struct cgroup_mount *m);

/* The path of a cgroup as /proc/<pid>/cgroup would show it. False: it is gone, not below the mount,
 * or the caller may not open files by handle (CAP_DAC_READ_SEARCH). */
bool cgroup_mount_path(const struct cgroup_mount *m, uint64_t id, char ret_path[PATH_MAX]);

/* Whether the cgroup with this path has this ID. */
bool cgroup_mount_has(const struct cgroup_mount *m, const char *path, size_t len, uint64_t id);

#endif
