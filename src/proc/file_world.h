/* SPDX-License-Identifier: Apache-2.0 */
/* Where the files of a process are looked up, and who is charged for them. Private to proc/. */
#ifndef PROC_FILE_WORLD_H
#define PROC_FILE_WORLD_H

#include <stdint.h>
#include <sys/types.h>

struct filestore;

struct file_world {
	uint32_t root;  /* number in the filestore, or ROOT_UNKNOWN */
	uint64_t payer; /* accounts.h */
};

/* The value for no process. */
struct file_world file_world_none(void);

/* The value for the process that has a PID now, unless it started after time_ns: then it is another
 * process. If the process is gone: `known`, which is inherited from its parent; otherwise the
 * parent's own. */
struct file_world file_world_find(struct filestore *files, pid_t pid, pid_t ppid, uint64_t time_ns,
				  struct file_world known);

#endif
