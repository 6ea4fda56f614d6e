/* SPDX-License-Identifier: Apache-2.0 */
/* The user's cache directory, for data that can be obtained again. */
#ifndef BASE_CACHE_DIR_H
#define BASE_CACHE_DIR_H

#include "base/error.h"

/* $XDG_CACHE_HOME/perf-agent, ~/.cache/perf-agent, or for root /var/cache/perf-agent; the caller
 * frees it. The environment variables are used only if they name a directory of this user, and
 * never when the program has more privileges than its caller. -ENOENT: this user has no home
 * directory. */
int cache_dir_default(char **ret_path);

/* Creates the directory if it is missing, private to this user. A directory that belongs to another
 * user, or that others can write to, is refused with a message. */
int cache_dir_prepare(const char *path, struct pa_error *err);

#endif
