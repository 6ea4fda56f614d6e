/* SPDX-License-Identifier: Apache-2.0 */
/* Rules between options: what excludes, requires or implies what. */
#ifndef CLI_RULES_H
#define CLI_RULES_H

#include "cli/options.h"

/* Returns 0, or a negative errno after a violation was printed. */
int rules_check(const struct options *o);

/* After rules_check(): sets options that were not given and follow from others. */
void rules_fill_defaults(struct options *o);

/* Checks the first word of a command given without "--": not a subcommand, not a PID. */
int rules_check_first_word(const char *word);

#endif
