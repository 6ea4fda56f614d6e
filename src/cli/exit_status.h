/* SPDX-License-Identifier: Apache-2.0 */
/* Exit statuses, as documented in the manual page. */
#ifndef CLI_EXIT_STATUS_H
#define CLI_EXIT_STATUS_H

#include <perfagent/perfagent.h>

enum exit_status {
	EXIT_STATUS_OK = 0,
	EXIT_STATUS_FAILED = 1, /* set-up or writing failed */
	EXIT_STATUS_USAGE = 2,
	EXIT_STATUS_LOST = 3,        /* --strict, --max-lost, --symbol-fail-closed */
	EXIT_STATUS_NOT_RUN = 126,   /* the command exists but cannot be executed */
	EXIT_STATUS_NOT_FOUND = 127, /* the command does not exist */
	EXIT_STATUS_SIGNAL = 128,    /* plus the number of the signal that aborted */
};

/* Returns status; or EXIT_STATUS_FAILED, after a message, if writing to stdout failed. */
int exit_status_of_stdout(int status);

#endif
