/* SPDX-License-Identifier: Apache-2.0 */
/* How the target of a capture is called, in messages and in the names of files. */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

#include "cli/options.h"

#define TARGET_TEXT_SIZE 256
#define TARGET_AUTO_NAME_SIZE 16 /* TASK_COMM_LEN: what the kernel keeps of a name */

/* Whether this process lives in a PID namespace below the initial one, and so does not see all. */
bool target_is_namespaced(void);

/* "PID 123 (comm)", "3 processes", "'make' (PID 123)", "all processes", or in a PID namespace "the
 * processes of this PID namespace". Returns text. */
const char *target_describe(const struct options *o, pid_t command_pid,
			    char text[TARGET_TEXT_SIZE]);

/* The comm that running path will have. Returns name. */
const char *target_auto_name(const char *path, char name[TARGET_AUTO_NAME_SIZE]);

#endif
