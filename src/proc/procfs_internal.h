/* SPDX-License-Identifier: Apache-2.0 */
/* What the files behind procfs.h share. */
#ifndef PROC_PROCFS_INTERNAL_H
#define PROC_PROCFS_INTERNAL_H

#include "proc/procfs.h"
#include "proc/unanswered.h"
#include "proc/wait_accounts.h"

#define PID_PATH_SIZE 80 /* "<pid>/map_files/<16 hex>-<16 hex>" and a little more */

bool procfs_has_pid(const struct procfs *p, pid_t pid);

/* A question about a process. */
struct procfs_ask {
	pid_t pid;
	uid_t uid;      /* whose it was when the question was asked */
	uint64_t payer; /* as far as was known then */
	enum wait_kind kind;
	struct reader_wait wait;
};

/* Who pays for what a process makes slow; -ESRCH: it has gone. Nobody is asked. */
int procfs_payer(const struct procfs *p, pid_t pid, uint64_t *ret_payer);

/* Before the reader is asked about a process: -ETIMEDOUT: it did not answer before, or its user has cost
 * too much; -EINVAL. */
int procfs_ask_pid(const struct procfs *p, pid_t pid, enum wait_kind kind,
		   struct procfs_ask *ret_ask);

/* What the reader said: r, or -ESRCH where it means that. What it cost is charged to the user; one that
 * did not answer is remembered. */
int procfs_answer_pid(const struct procfs *p, const struct procfs_ask *ask, const char *what,
		      int r);

#endif
