/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what a target can block forever, by a process that can be abandoned (worker.h): opening and
 * reading files (a FUSE server that stops answering), and files of /proc/<pid> that wait for locks
 * of the target or may hold the last reference to its memory.
 *
 * Each step of a request has a deadline. A reader that sleeps past it, or runs for too long, is
 * killed and abandoned, and the next request goes to a new one. The reader measures its sleep in
 * each request, so that it can be charged (wait_accounts.h). All calls from any thread; one request
 * is served at a time.
 */
#ifndef PROC_READER_H
#define PROC_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/cancel.h"
#include "base/cleanup.h"

struct reader;

/* Limits, for tests; 0: the default. */
struct reader_limits {
	uint64_t deadline_ns; /* per step of a request, unless the request has its own */
	uint64_t run_ns;      /* CPU time per step */
	/* time asleep in one file system, after which none of its files is opened */
	uint64_t device_ns;
	uint64_t silent_ns;  /* for how long none of its files is opened */
	uint64_t copy_ns;    /* for copying non-local files, in total */
	uint64_t copy_bytes; /* limit for those copies in stored bytes */
	uint64_t file_bytes; /* per such file */
	bool copies_all;     /* treat no file as local */
};

/* proc_fd: a descriptor of procfs, borrowed during the call. */
int reader_new(int proc_fd, const struct reader_limits *limits, struct reader **ret_reader);
struct reader *reader_free(struct reader *r);
DEFINE_CLEANUP(struct reader *, reader_free)

/* How long a request may wait, and how long it did. */
struct reader_wait {
	uint64_t deadline_ns; /* per step, that is per packet of the answer; 0: the default */
	uint64_t budget_ns;   /* time asleep, in all steps; 0: unlimited while they are answered */
	const struct cancel *cancel;    /* when requested, the deadline is shortened; NULL: never */
	uint64_t cancelled_deadline_ns; /* the shortened deadline */
	/* Results. */
	uint64_t slept_ns;    /* time the reader slept; waiting for a CPU does not count */
	bool is_device_spent; /* no file of that file system is opened for a while */
};

/* An open file. */
struct reader_file {
	int fd;       /* reading it never blocks: the file is local, or this is a copy in memory */
	bool is_copy; /* contents at the time of opening */
	struct stat st; /* of the file */
	bool has_generation;
	uint32_t generation; /* of the inode */
};

/* wait: NULL for the defaults. Errors of all requests: -ETIMEDOUT: no answer; -EAGAIN, -ENOMEM …:
 * there is no reader; otherwise the result of the call itself. Paths of procfs are relative
 * ("12/maps"). */

/* Reads at most max_bytes from offset on, and appends them. */
int reader_read(struct reader *r, const char *path, uint64_t offset, uint64_t max_bytes,
		struct reader_wait *wait, struct buf *to);
int reader_link(struct reader *r, const char *path, struct reader_wait *wait, struct buf *to);

/* Opens the target of a magic link of procfs. root: that of the process, as a path in procfs.
 * Regular files only (-ENODEV, with st filled in). -EFBIG: not local, and larger than may be
 * copied. */
int reader_open_link(struct reader *r, const char *path, const char *root, struct reader_wait *wait,
		     struct reader_file *ret_file);

/* Opens a path inside a root: root_fd, or (-1) the path `root` in procfs, or ("") our own. Symbolic
 * links never lead out of it (openat2(), otherwise -ENOSYS). */
struct reader_root {
	int fd;
	const char *path;
	bool is_one_mount; /* do not cross mounts inside it (-EXDEV) */
	bool is_no_link;   /* the last component must not be a link (-ELOOP) */
	/* readable by everyone, or the file is owner's (otherwise -EACCES, and not opened) */
	bool must_be_readable;
	uid_t owner;
};
int reader_open_beneath(struct reader *r, const struct reader_root *root, const char *path,
			struct reader_wait *wait, struct reader_file *ret_file);

/* An O_PATH descriptor of a directory in procfs ("": our own root), its fstat(), and its mount ID
 * (0: unknown). */
int reader_open_root(struct reader *r, const char *path, struct reader_wait *wait,
		     struct stat *ret_st, uint64_t *ret_mount);

struct reader_stats {
	uint64_t nr_unanswered; /* number of requests */
	uint64_t nr_abandoned;  /* number of abandoned readers */
	uint64_t copied_bytes;
};
struct reader_stats reader_stats(struct reader *r);

/* For tests: the current reader process; 0 if there is none. */
pid_t reader_pid(struct reader *r);

#endif
