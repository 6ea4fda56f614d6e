/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of options that several tables have. Each sets the member of the context at def->field. */
#ifndef CLI_OPTION_HANDLERS_H
#define CLI_OPTION_HANDLERS_H

#include "cli/optparse.h"

int handle_flag(void *ctx, const struct option_def *def, const char *value); /* bool */
int handle_path(void *ctx, const struct option_def *def, const char *value); /* const char * */
int handle_word(void *ctx, const struct option_def *def, const char *value); /* const char * */
int handle_choice(void *ctx, const struct option_def *def,
		  const char *value); /* enum, of def->choices */
int handle_top(void *ctx, const struct option_def *def, const char *value);     /* unsigned int */
int handle_percent(void *ctx, const struct option_def *def, const char *value); /* double */

/* The context begins with its enum options_action. */
int handle_help(void *ctx, const struct option_def *def, const char *value);

extern const struct option_choice sort_choices[]; /* of an enum report_sort */

#endif
