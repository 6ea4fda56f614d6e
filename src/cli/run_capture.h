/* SPDX-License-Identifier: Apache-2.0 */
/* One capture from its options to its exit status: the session, the command, signals, reports. */
#ifndef CLI_RUN_CAPTURE_H
#define CLI_RUN_CAPTURE_H

#include "cli/options.h"

/* Returns the exit status. */
int run_capture(const struct options *o);

#endif
