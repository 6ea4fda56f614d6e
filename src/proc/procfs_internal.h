/* SPDX-License-Identifier: Apache-2.0 */
/* What the files behind procfs.h share. */
#ifndef PROC_PROCFS_INTERNAL_H
#define PROC_PROCFS_INTERNAL_H

#include "proc/procfs.h"
#include "proc/unanswered.h"

#define PID_PATH_SIZE 80 /* "<pid>/map_files/<16 hex>-<16 hex>" and a little more */

bool procfs_has_pid(const struct procfs *p, pid_t pid);

/* Before the reader is asked about a process: -ETIMEDOUT: it did not answer before; -EINVAL. */
int procfs_ask_pid(const struct procfs *p, pid_t pid);

/* What the reader said: r, or -ESRCH where it means that. One that did not answer is remembered. */
int procfs_answer_pid(const struct procfs *p, pid_t pid, const char *what, int r);

#endif
