/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that a target can make wait for ever are performed by a process that can be given up: opening
 * and reading files (FUSE whose server stops answering), and whatever of /proc/<pid> waits for locks
 * of the target or may be the last to hold its memory. A thread would not do: one that sleeps in the
 * kernel keeps its process from ending, even by SIGKILL.
 *
 * Each step of a request has a deadline. A reader that sleeps when it has passed, or runs for too long, is
 * killed and left behind, and the next request is given to a new one. The reader measures how long it was
 * asleep in what it was asked for, so that it can be charged to somebody (wait_accounts.h). All calls from any thread; one request is served at a time.
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

/* The limits, for tests; 0: the usual one. */
struct reader_limits {
	uint64_t deadline_ns; /* of one step of a request, where the request has none of its own */
	uint64_t run_ns;      /* CPU time of one step */
	uint64_t device_ns;   /* asleep in one file system; then none of its files is opened … */
	uint64_t silent_ns;   /* … for so long */
	uint64_t copy_ns;     /* for copying files that are not local, in all */
	uint64_t copy_bytes;  /* the same in stored bytes */
	uint64_t file_bytes;  /* of one such file */
	bool copies_all;      /* no file is local */
};

/* proc_fd: a descriptor of procfs, borrowed during the call. */
int reader_new(int proc_fd, const struct reader_limits *limits, struct reader **ret_reader);
struct reader *reader_free(struct reader *r);
DEFINE_CLEANUP(struct reader *, reader_free)

/* How long a request may wait, and how long it did. */
struct reader_wait {
	uint64_t deadline_ns;           /* of one step: a packet of the answer; 0: the usual one */
	uint64_t budget_ns;             /* asleep, in all steps; 0: as long as they are answered */
	const struct cancel *cancel;    /* NULL: nobody can ask for … */
	uint64_t cancelled_deadline_ns; /* … this deadline */
	/* Results. */
	uint64_t slept_ns;    /* by the reader; waiting for a CPU is not that */
	bool is_device_spent; /* for a while no file of that file system is opened */
};

/* An open file. */
struct reader_file {
	int fd;         /* reading it always ends: the file is local, or this is a copy in memory */
	bool is_copy;   /* as it was when it was opened */
	struct stat st; /* of the file */
	bool has_generation;
	uint32_t generation; /* of the inode */
};

/* wait: NULL, as usual. All of these: -ETIMEDOUT: no answer; -EAGAIN, -ENOMEM …: there is no reader; else what the call
 * itself gives. Paths of procfs are relative ("12/maps"). */

/* At most max_bytes from offset on; appended. */
int reader_read(struct reader *r, const char *path, uint64_t offset, uint64_t max_bytes,
		struct reader_wait *wait, struct buf *to);
int reader_link(struct reader *r, const char *path, struct reader_wait *wait, struct buf *to);

/* What a magic link of procfs leads to. root: of the process, as a path of procfs. Regular files only
 * (-ENODEV, with st filled in). -EFBIG: not local, and larger than what may be copied. */
int reader_open_link(struct reader *r, const char *path, const char *root, struct reader_wait *wait,
		     struct reader_file *ret_file);

/* A path inside of a root: root_fd, or (-1) the path `root` of procfs, or ("") our own. Symbolic links
 * never lead out of it (openat2(), else -ENOSYS). */
struct reader_root {
	int fd;
	const char *path;
	bool is_one_mount;     /* nothing that is mounted inside of it is entered (-EXDEV) */
	bool is_no_link;       /* the last part of the path must not be a link (-ELOOP) */
	bool must_be_readable; /* by everybody, or the file is owner's (-EACCES, and not opened) */
	uid_t owner;
};
int reader_open_beneath(struct reader *r, const struct reader_root *root, const char *path,
			struct reader_wait *wait, struct reader_file *ret_file);

/* An O_PATH descriptor of a directory of procfs ("": our own root), fstat() of it, and the number of
 * its mount (0: not known). */
int reader_open_root(struct reader *r, const char *path, struct reader_wait *wait,
		     struct stat *ret_st, uint64_t *ret_mount);

struct reader_stats {
	uint64_t nr_unanswered; /* requests */
	uint64_t nr_abandoned;  /* readers left behind */
	uint64_t nr_copied, copied_bytes;
};
struct reader_stats reader_stats(struct reader *r);

/* For tests: the reader process of now; 0: none is there. */
pid_t reader_pid(struct reader *r);

#endif
