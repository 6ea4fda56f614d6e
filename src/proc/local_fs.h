/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether reading a file always terminates. Local file systems do not block indefinitely;
 * FUSE and network file systems depend on their server. overlayfs depends on its layers: anyone can
 * mount one over FUSE in a user namespace, so it counts as local only if the administrator mounted
 * it.
 *
 * Only for the reader process: these checks may themselves block. Nothing is allocated.
 */
#ifndef PROC_LOCAL_FS_H
#define PROC_LOCAL_FS_H

#include <stdbool.h>
#include <stdint.h>

#define LOCAL_FS_MAX_OVERLAYS 4096 /* beyond this number, files on further overlays are copied */
#define LOCAL_FS_READ_BYTES (32u << 10) /* of mountinfo; longer lines are skipped */

struct overlay_mount {
	uint64_t id, dev;
};

/* The overlays of one mount namespace. */
struct mount_table {
	int fd; /* of mountinfo: polled for changes; -1: unavailable */
	bool is_read;
	uint32_t nr;
	struct overlay_mount items[LOCAL_FS_MAX_OVERLAYS];
	char text[LOCAL_FS_READ_BYTES];
};

struct local_fs {
	struct mount_table own, init; /* ours, and that of PID 1 */
	uint64_t root_dev;            /* device of our own root: if that blocks, so do we */
};

void local_fs_init(struct local_fs *l);

/* fd: the file, open or O_PATH. dir_fd: a directory that is probably on the same mount, such as the
 * process's root; -1: none. Directories of overlayfs have its own device, files often do not. */
bool local_fs_has(struct local_fs *l, int fd, int dir_fd);

#endif
