/* SPDX-License-Identifier: Apache-2.0 */
/* Taking paths apart, and finding where one leads without opening it. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

/* The part after the last '/': inside path, perhaps empty. */
const char *path_name(const char *path);

/* The directory that path is in, "." when it names none; the caller frees it. NULL: no memory. */
char *path_dir(const char *path);

/*
 * Follows symbolic links at the end of path until there is none, or nothing at all; the caller
 * frees the result. -ELOOP: too many. -EACCES: one that another user put into a directory like
 * /tmp, which the kernel would not follow either. -EREMOTE: a link of procfs (/dev/stdout is one),
 * which leads to an open file whatever it reads.
 */
int path_follow_links(const char *path, char **ret_real);

#endif
