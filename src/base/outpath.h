/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the path of an output leads. It is walked one component at a time, each relative to a
 * descriptor of the directory before, so that nothing which is renamed meanwhile can lead elsewhere
 * than what was checked.
 *
 * In a directory that others may write as well (/tmp, or one that belongs to somebody else), links,
 * FIFOs and devices count only if they belong to us, to root, or to who called us (sudo). The kernel has
 * such rules too (fs.protected_symlinks and its kin), but they can be switched off, apply to what the
 * kernel itself follows or creates, and to sticky directories alone.
 */
#ifndef BASE_OUTPATH_H
#define BASE_OUTPATH_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/buf.h"

struct outpath {
	int dir_fd;         /* owned, O_PATH: the directory; -1: none was reached */
	struct buf dir;     /* owned: its path, with links followed; NUL-terminated; for messages */
	char *name;         /* owned: the last component, which is no link (but see is_magic) */
	bool is_shared;     /* others may write the directory */
	bool keeps_names;   /* ... but not rename what is ours */
	bool is_new;        /* as asked for */
	bool makes_folders; /* those that are missing */
	bool has_friend;    /* as asked for */
	uid_t friend;
	bool is_special; /* something is there that is no regular file: to be written in place */
	bool is_magic;   /* a link of procfs, which leads to an open file whatever it reads */
	int special_fd; /* owned, O_PATH: what is special; while it is open, its number is its own */
	struct stat st;  /* of what is special, or was refused */
	bool is_refused; /* with -EACCES: dir is what belongs to the user st.st_uid */
};

#define OUTPATH_NONE ((struct outpath){ .dir_fd = -1, .special_fd = -1 })

struct outpath_options {
	bool is_new;     /* whatever has the last name is neither followed nor looked at */
	bool has_friend; /* what belongs to the user `friend` is as good as ours */
	uid_t friend;
};

/*
 * On failure, dir tells how far it came. -EISDIR: it is a directory, or ends in '/'. -ELOOP: too many
 * links. -EACCES: no permission, or refused by the rule above.
 */
int outpath_resolve(const char *path, const struct outpath_options *opts, struct outpath *ret_path);

/* The directory path itself, by the same rule: dir_fd. What is missing is made, with mode 0700. */
int outpath_make_folder(const char *path, struct outpath *ret_path);

/* Opens what is_special for writing. A FIFO waits for its reader, as it does in a shell. */
int outpath_open_special(const struct outpath *p);

/* "FIFO", "symbolic link" … */
const char *outpath_kind(const struct stat *st);

void outpath_done(struct outpath *p);

#endif
