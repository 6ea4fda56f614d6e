/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of the options that select the target by number or name. Their context is a struct
 * options. */
#ifndef CLI_TARGET_OPTIONS_H
#define CLI_TARGET_OPTIONS_H

#include "cli/optparse.h"

/* A list of PIDs and process names; replaces the previous one. Extra commas are ignored. */
int target_options_pid(void *ctx, const struct option_def *def, const char *value);

/* As target_options_pid(), for TIDs. */
int target_options_tid(void *ctx, const struct option_def *def, const char *value);

/* A user ID, or a name from /etc/passwd. */
int target_options_user(void *ctx, const struct option_def *def, const char *value);

#endif
