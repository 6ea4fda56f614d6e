/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kind of memory of a mapping, by device and inode, which a target cannot choose. It can choose
 * paths, in a root or a mount namespace of its own: "/SYSV00000000" may be any file.
 */
#ifndef PROC_MEMORY_KIND_H
#define PROC_MEMORY_KIND_H

#include "proc/tracker.h"

#define MEMORY_MAX_DEVICES 16

/* The kernel's internal file systems for shared anonymous memory, SysV, memfd and huge pages (one
 * per size). */
struct memory_devices {
	uint64_t devices[MEMORY_MAX_DEVICES];
	uint32_t nr;
	uint64_t zero_dev, zero_ino; /* of /dev/zero; 0: none */
};

void memory_devices_init(struct memory_devices *d);

enum mapping_kind memory_kind(const struct memory_devices *d, const struct file_key *key,
			      const char *path);

/* Memory without any file behind it. */
bool memory_has_no_file(const struct file_key *key);

#endif
