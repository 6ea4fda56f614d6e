/* SPDX-License-Identifier: Apache-2.0 */
/* Whose process it is, for the account of what it costs (wait_accounts.h). */
#ifndef PROC_PAYER_H
#define PROC_PAYER_H

#include <stdint.h>
#include <sys/types.h>

struct procfs;

/* The user who answers for a process that runs as uid. In a user namespace anybody has thousands of users
 * of his own: it is who made the outermost one below ours. uid where that cannot be found out. */
uint64_t payer_of(const struct procfs *p, pid_t pid, uid_t uid);

#endif
