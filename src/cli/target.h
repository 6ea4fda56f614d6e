/* SPDX-License-Identifier: Apache-2.0 */
/* Names the target of a capture, in messages and in file names. */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

#include "cli/options.h"

#define TARGET_TEXT_SIZE 256
#define TARGET_AUTO_NAME_SIZE 16 /* TASK_COMM_LEN: the kernel's limit */

/* True if this process is in a PID namespace below the initial one, and therefore does not see all
 * processes. */
bool target_is_namespaced(void);

/* True if a capture continues when none of its processes is left, because new ones may start. */
bool target_has_open_end(const struct options *o);

/* "PID 123 (comm)", "3 processes", "TID 123 (comm)", "processes named 'x'", "processes of user x", "cgroup x",
 * "'make' (PID 123)", "all processes", or in a PID namespace "the processes of this PID namespace". Returns
 * text. */
const char *target_describe(const struct options *o, pid_t command_pid,
			    char text[TARGET_TEXT_SIZE]);

/* The words of a command separated by spaces, truncated if too long. Returns text. */
const char *target_command_line(char *const *command, char text[TARGET_TEXT_SIZE]);

/* The comm that a process running path will have. Returns name. */
const char *target_auto_name(const char *path, char name[TARGET_AUTO_NAME_SIZE]);

#endif
