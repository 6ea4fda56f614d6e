/* SPDX-License-Identifier: Apache-2.0 */
/* The user charged for the cost of a process (accounts.h). */
#ifndef PROC_PAYER_H
#define PROC_PAYER_H

#include <stdint.h>
#include <sys/types.h>

struct procfs;

/* The user who is charged for a process that runs as uid. In a user namespace anyone can control
 * thousands of user IDs, so the creator of the outermost namespace below ours is charged. uid
 * itself if that is unknown. */
uint64_t payer_of(const struct procfs *p, pid_t pid, uid_t uid);

#endif
