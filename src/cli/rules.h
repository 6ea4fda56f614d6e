/* SPDX-License-Identifier: Apache-2.0 */
/* Rules between options: what excludes, requires or implies what. */
#ifndef CLI_RULES_H
#define CLI_RULES_H

#include "cli/options.h"

/* 0, or a negative errno when a broken rule was told on stderr. */
int rules_check(const struct options *o);

/* After rules_check(): what was not given and follows from what was. */
void rules_fill_defaults(struct options *o);

/* An argument that is neither an option nor after "--". */
int rules_stray_argument(const char *arg);

#endif
