/* SPDX-License-Identifier: Apache-2.0 */
/* Taking paths apart. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

/* The part after the last '/': inside path, perhaps empty. */
const char *path_name(const char *path);

/* The directory that path is in, "." when it names none; the caller frees it. NULL: no memory. */
char *path_dir(const char *path);

#endif
