/* SPDX-License-Identifier: Apache-2.0 */
/* One line of /proc/<pid>/mountinfo. Its paths are chosen by whoever mounts: untrusted. */
#ifndef PROC_MOUNTINFO_H
#define PROC_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mount_line {
	uint64_t id;           /* what statx() calls stx_mnt_id */
	uint32_t major, minor; /* of the superblock */
	bool is_overlay, is_cgroup2;
	/* the directory of the file system that is mounted, and where; in the line, with escapes */
	const char *root, *point;
	size_t root_len, point_len;
};

/* Parses one line without its newline. False: malformed. */
bool mountinfo_parse(const char *line, size_t len, struct mount_line *ret_mount);

#endif
