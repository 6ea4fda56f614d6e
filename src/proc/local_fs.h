/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether reading a file always comes to an end. Local file systems answer; FUSE and the network
 * answer when their server does. overlayfs answers if the layers below do: anybody can mount one over
 * FUSE in a user namespace, so it counts as local only where the administrator has mounted it.
 *
 * For the reader process alone: the questions asked here may themselves never be answered. Nothing is
 * allocated.
 */
#ifndef PROC_LOCAL_FS_H
#define PROC_LOCAL_FS_H

#include <stdbool.h>
#include <stdint.h>

#define LOCAL_FS_MAX_OVERLAYS 4096      /* over this number, files on the others are copied */
#define LOCAL_FS_READ_BYTES (32u << 10) /* of mountinfo; a line that is longer is skipped */

struct overlay_mount {
	uint64_t id, dev;
};

/* The overlays of one mount namespace. */
struct mount_table {
	int fd; /* of mountinfo: polled for changes; -1: not to be had */
	bool is_read;
	uint32_t nr;
	struct overlay_mount items[LOCAL_FS_MAX_OVERLAYS];
	char text[LOCAL_FS_READ_BYTES];
};

struct local_fs {
	struct mount_table own, init; /* ours, and that of PID 1 */
	uint64_t root_dev;            /* of our own root: if that hangs, so do we */
};

void local_fs_init(struct local_fs *l);

/* fd: the file, open or O_PATH. dir_fd: a directory that is likely to be on the same mount, as a
 * process's root is; -1: none. Directories of overlayfs have its own device, files often have not. */
bool local_fs_has(struct local_fs *l, int fd, int dir_fd);

#endif
