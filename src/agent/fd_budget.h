/* SPDX-License-Identifier: Apache-2.0 */
/* How the limit of open files (RLIMIT_NOFILE) is shared between a capture's own needs and the files of
 * its targets. */
#ifndef AGENT_FD_BUDGET_H
#define AGENT_FD_BUDGET_H

#include <perfagent/perfagent.h>

/* Whether the limit is enough for a capture at all. -EMFILE says what it would take. */
int fd_budget_check(struct pa_error *err);

/* How many files of targets may be kept open. */
unsigned int fd_budget_kept_files(const struct pa_options *o);

#endif
