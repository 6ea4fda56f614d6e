/* SPDX-License-Identifier: Apache-2.0 */
/* Where what can be had again is kept between runs: a directory of the user's own. */
#ifndef AGENT_CACHE_DIR_H
#define AGENT_CACHE_DIR_H

#include "base/error.h"

/* $XDG_CACHE_HOME/perf-agent, ~/.cache/perf-agent, or for root /var/cache/perf-agent; the caller
 * frees it. Variables count only where they lead to a directory of this user, and not at all where
 * the program has more privileges than its caller. -ENOENT: this user has no home. */
int cache_dir_default(char **ret_path);

/* Makes the directory where it is missing, for this user alone. Refused with a sentence: one that
 * belongs to another user, or that others may write to. */
int cache_dir_prepare(const char *path, struct pa_error *err);

#endif
