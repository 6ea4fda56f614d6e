/* SPDX-License-Identifier: Apache-2.0 */
/* One capture from its options to its exit status: the session, the command, signals, reports. */
#ifndef CLI_CAPTURE_H
#define CLI_CAPTURE_H

#include "cli/options.h"

/* Returns the exit status. */
int capture_main(const struct options *o);

#endif
