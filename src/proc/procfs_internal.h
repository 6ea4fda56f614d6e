/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files behind procfs.h. */
#ifndef PROC_PROCFS_INTERNAL_H
#define PROC_PROCFS_INTERNAL_H

#include "proc/procfs.h"
#include "proc/unanswered.h"
#include "proc/wait_accounts.h"

#define PID_PATH_SIZE 80 /* "<pid>/map_files/<16 hex>-<16 hex>" and a little more */

bool procfs_has_pid(const struct procfs *p, pid_t pid);

/* A request about a process. */
struct procfs_ask {
	pid_t pid;
	uid_t uid;      /* its user when the request was made */
	uint64_t payer; /* as far as known at that time */
	enum wait_kind kind;
	struct reader_wait wait;
};

/* Called before the reader is asked about a process. -ETIMEDOUT: it did not answer before, or its
 * user has cost too much; -EINVAL. */
int procfs_ask_pid(const struct procfs *p, pid_t pid, enum wait_kind kind,
		   struct procfs_ask *ret_ask);

/* Evaluates the reader's result: r, or -ESRCH if it means that. Charges the user; records a process
 * that did not answer. */
int procfs_answer_pid(const struct procfs *p, const struct procfs_ask *ask, const char *what,
		      int r);

#endif
