/* SPDX-License-Identifier: Apache-2.0 */
/* Splits and joins paths. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <stddef.h>

/* The part after the last '/': points into path, may be empty. */
const char *path_name(const char *path);

/* The number of bytes of a file's name that label code without a symbol: 4 for "libz.so.1.2.13",
 * since readers such as pprof shorten names at dots; at most PATH_LABEL_MAX_BYTES. */
#define PATH_LABEL_MAX_BYTES 255
size_t path_label_bytes(const char *name);

/* The directory part of path, "." if there is none; the caller frees it. NULL if out of memory. */
char *path_dir(const char *path);

/* Inserts "-part" before the extensions: "d/out.pb.gz" becomes "d/out-part.pb.gz". The caller frees
 * the result. NULL if out of memory. */
char *path_beside(const char *path, const char *part);

#endif
