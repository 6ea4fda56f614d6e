/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that appears complete or not at all: written under a temporary name, then renamed. It is
 * opened before the capture starts, so that an unwritable path is reported before anything is
 * attached.
 */
#ifndef BASE_OUTFILE_H
#define BASE_OUTFILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"

struct outfile;

struct outfile_options {
	/* Never replace a file: insert "-1", "-2" … before the suffix until a name is free. The
	 * suffix begins at the first '.' after the last '/'. */
	bool unique;
	bool is_private; /* the final mode is 0600, even if a file is replaced */
	bool is_patched; /* fail at once with -ESPIPE if outfile_patch() would */
	bool set_owner;  /* give the file to uid:gid */
	uid_t uid;
	gid_t gid;
	/* Polled during outfile_write(), also while it waits for a reader: true ends it with
	 * -ECANCELED. NULL: never cancelled. */
	bool (*is_cancelled)(void *ctx);
	void *cancel_ctx;
};

/*
 * "-" is standard output. An existing path that is not a regular file (a FIFO, /dev/null) is
 * written in place. Otherwise an unnamed or temporary file is created in the same directory: mode
 * 0600 while it is written, finally 0666 minus the umask, or the mode of the regular file of the
 * same user that it replaces. A symbolic link is followed and its target replaced. Links, FIFOs and
 * devices that another user put into a directory writable by others are refused (base/outpath.h).
 * Everything is done with the user's own privileges (base/capabilities.h). Errors name the path.
 */
int outfile_open(const char *path, const struct outfile_options *opts, struct outfile **ret_file,
		 struct pa_error *err);

/* Bytes that go to somebody else instead of a file of ours: there is nothing to rename, and what was written
 * before a failure stays. */
struct outfile_target {
	pa_write_fn write; /* NULL: the descriptor */
	void *ctx;
	int fd; /* borrowed during the call */
};

/* is_patched: everything is kept in memory until outfile_commit(), which passes it on. Other options except
 * is_cancelled have no effect. */
int outfile_open_target(const struct outfile_target *target, const struct outfile_options *opts,
			struct outfile **ret_file, struct pa_error *err);

/* Writes all n bytes. A full disk is -ENOSPC with its own message. */
int outfile_write(struct outfile *f, const void *bytes, size_t n, struct pa_error *err);

/* True if written bytes can be changed afterwards; false for files that are written in place. */
bool outfile_can_patch(const struct outfile *f);

/* Replaces n bytes that were written before, at an offset; -ESPIPE: see outfile_can_patch(). */
int outfile_patch(struct outfile *f, uint64_t offset, const void *bytes, size_t n,
		  struct pa_error *err);

/* Renames the file to its final name. Afterwards only the queries below and outfile_free() are
 * allowed. */
int outfile_commit(struct outfile *f, struct pa_error *err);

/* True if committing one would replace the other: they have the same name in the same directory. */
bool outfile_is_same(const struct outfile *a, const struct outfile *b);

/* The final path: with `unique`, known only after outfile_commit(). */
const char *outfile_path(const struct outfile *f);
uint64_t outfile_size(const struct outfile *f);
bool outfile_is_committed(const struct outfile *f);

/* Accepts NULL. Removes a file that was not committed. */
struct outfile *outfile_free(struct outfile *f);
DEFINE_CLEANUP(struct outfile *, outfile_free)

#endif
