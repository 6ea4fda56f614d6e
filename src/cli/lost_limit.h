/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether a capture lost more than its options allow: exit status 3. */
#ifndef CLI_LOST_LIMIT_H
#define CLI_LOST_LIMIT_H

#include <perfagent/perfagent.h>

#include "cli/options.h"

#define LOST_LIMIT_TEXT_SIZE 256

/* Returns text: a sentence with the option and what was counted. NULL if nothing exceeds a
 * limit. */
const char *lost_limit_exceeded(const struct options *o, const struct pa_summary *s,
				char text[LOST_LIMIT_TEXT_SIZE]);

#endif
