/* SPDX-License-Identifier: Apache-2.0 */
/* Where --json goes: a file that appears whole or not at all, or standard output. */
#ifndef CLI_SUMMARY_FILE_H
#define CLI_SUMMARY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Whom files belong to. */
struct owner {
	bool is_set;
	uid_t uid;
	gid_t gid;
};

/* The user who called sudo, when this is root and sudo says who. */
struct owner owner_from_environment(void);

/* Whether path can be written, as far as that can be known before; a negative errno says why not.
 * NULL is standard output. */
int summary_file_check(const char *path);

/*
 * Writes n bytes. A regular file is written beside its final name and renamed; a symbolic link is
 * followed; what exists and is no regular file is written in place.
 */
int summary_file_write(const char *path, const void *bytes, size_t n, const struct owner *owner);

#endif
