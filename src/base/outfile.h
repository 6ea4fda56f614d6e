/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that appears whole or not at all: written beside its final name, then renamed. Opened
 * before the capture starts, so that an unwritable path is an error before anything is attached.
 */
#ifndef BASE_OUTFILE_H
#define BASE_OUTFILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"

struct outfile;

struct outfile_options {
	/* Never replace: "-1", "-2" … goes in front of the suffix until a name is free. The
	 * suffix begins at the first '.' after the last '/'. */
	bool unique;
	bool is_private; /* mode 0600 for good, whatever is replaced */
	bool set_owner;  /* give the file to uid:gid */
	uid_t uid;
	gid_t gid;
	/* Asked in the middle of outfile_write(), also while that waits for a reader: true ends it
	 * with -ECANCELED. NULL: it is never cancelled. */
	bool (*is_cancelled)(void *ctx);
	void *cancel_ctx;
};

/*
 * "-" is standard output; an existing path that is no regular file (a FIFO, /dev/null) is written
 * in place; for anything else a nameless or hidden file is made in the same directory (mode 0600
 * while it is written, 0666 less the umask at the end; a regular file of the same user that is
 * replaced keeps its mode; a symbolic link is followed, its target replaced). What another user put
 * into a directory that others may write is neither followed nor opened (base/outpath.h), and all of
 * it happens with the user's own rights (base/capabilities.h). Errors name the path.
 */
int outfile_open(const char *path, const struct outfile_options *opts, struct outfile **ret_file,
		 struct pa_error *err);

/* Writes all n bytes. A full disk is -ENOSPC with a sentence that says so. */
int outfile_write(struct outfile *f, const void *bytes, size_t n, struct pa_error *err);

/* Gives the file its name. After it, only the questions below and outfile_free(). */
int outfile_commit(struct outfile *f, struct pa_error *err);

/* The final path: with `unique`, known only after outfile_commit(). */
const char *outfile_path(const struct outfile *f);
uint64_t outfile_size(const struct outfile *f);
bool outfile_is_committed(const struct outfile *f);

/* Accepts NULL. What was not committed is gone. */
struct outfile *outfile_free(struct outfile *f);
DEFINE_CLEANUP(struct outfile *, outfile_free)

#endif
