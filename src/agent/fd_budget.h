/* SPDX-License-Identifier: Apache-2.0 */
/* Divides the limit of open files (RLIMIT_NOFILE) between a capture's own needs and the files of
 * its targets. */
#ifndef AGENT_FD_BUDGET_H
#define AGENT_FD_BUDGET_H

#include <perfagent/perfagent.h>

/* Checks that the limit is enough for a capture at all. -EMFILE: err says how many are needed. */
int fd_budget_check(struct pa_error *err);

/* How many files of targets may be kept open. */
unsigned int fd_budget_kept_files(const struct pa_options *o);

#endif
