/* SPDX-License-Identifier: Apache-2.0 */
/* Suggestions for mistyped words. */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include "cli/optparse.h"

/* True if word (of len bytes) is name with a few typos: letters omitted, added, changed or swapped.
 */
bool suggest_is_close(const char *word, size_t len, const char *name);

/* The name of the option that word, without its dashes, is closest to or a prefix of; NULL: none.
 */
const char *suggest_option(const struct option_table *table, const char *word, size_t len);

#endif
