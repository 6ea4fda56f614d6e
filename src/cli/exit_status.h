/* SPDX-License-Identifier: Apache-2.0 */
/* How the program ends, as the manual page promises. */
#ifndef CLI_EXIT_STATUS_H
#define CLI_EXIT_STATUS_H

#include <perfagent/perfagent.h>

enum exit_status {
	EXIT_STATUS_OK = 0,
	EXIT_STATUS_FAILED = 1, /* could not set up, or could not write */
	EXIT_STATUS_USAGE = 2,
	EXIT_STATUS_LOST = 3,     /* --strict */
	EXIT_STATUS_SIGNAL = 128, /* plus the number of the signal that aborted */
};

/* status, or a told EXIT_STATUS_FAILED when what was printed to stdout did not get there. */
int exit_status_of_stdout(int status);

#endif
