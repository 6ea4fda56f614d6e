/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves the path of an output, one component at a time, each relative to a descriptor of its
 * directory, so that a concurrent rename cannot lead anywhere that was not checked.
 *
 * In a directory that others can write to (/tmp, or one that belongs to another user), links, FIFOs
 * and devices are accepted only if they belong to us, to root, or to the user who called sudo. The
 * kernel has similar rules (fs.protected_symlinks and others), but they can be disabled and cover
 * only sticky directories.
 */
#ifndef BASE_OUTPATH_H
#define BASE_OUTPATH_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/buf.h"

struct outpath {
	int dir_fd;         /* owned, O_PATH: the directory; -1 if none was reached */
	struct buf dir;     /* owned: its path for messages, links resolved, NUL-terminated */
	char *name;         /* owned: the last component, which is not a link (but see is_magic) */
	bool is_shared;     /* others can write to the directory */
	bool keeps_names;   /* others can write to the directory, but cannot rename our files */
	bool is_new;        /* outpath_options.is_new */
	bool makes_folders; /* missing directories are created */
	bool has_friend;    /* outpath_options.has_friend */
	uid_t friend;
	bool is_special; /* the path exists and is not a regular file: written in place */
	bool is_magic;   /* a procfs link, which refers to an open file whatever its text is */
	int special_fd; /* owned, O_PATH: the special file; while it is open its inode number is not reused */
	struct stat st;  /* of the special file, or of the refused component */
	bool is_refused; /* with -EACCES: dir belongs to the user st.st_uid */
};

#define OUTPATH_NONE ((struct outpath){ .dir_fd = -1, .special_fd = -1 })

struct outpath_options {
	bool is_new;     /* do not follow or check the last component */
	bool has_friend; /* files of the user `friend` are accepted like our own */
	uid_t friend;
};

/*
 * If it fails, dir is the part of the path that was resolved. -EISDIR: the path is a directory or
 * ends in '/'. -ELOOP: too many links. -EACCES: no permission, or refused by the rule above.
 */
int outpath_resolve(const char *path, const struct outpath_options *opts, struct outpath *ret_path);

/* Opens the directory itself by the same rule (dir_fd). Missing components are created with mode
 * 0700. */
int outpath_make_folder(const char *path, struct outpath *ret_path);

/* Opens a special file for writing. A FIFO blocks until it has a reader, as in a shell. */
int outpath_open_special(const struct outpath *p);

/* "FIFO", "symbolic link" … */
const char *outpath_kind(const struct stat *st);

void outpath_done(struct outpath *p);

#endif
