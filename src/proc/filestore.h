/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that targets have mapped. Each is opened once, on first sight, and kept open (up to a
 * limit), so that it can be read after the process is gone or the file is unlinked or replaced.
 *
 * Identity: an open file is identified by (device, inode, mtime, size) from fstat(). The kernel's
 * own key (major, minor, inode) leads to it without opening it again: while the file is held open
 * its inode number cannot be reused. A file that could not be opened is identified by its kernel
 * key with the inode's generation, and its build-id if the kernel reported it.
 *
 * The same file in another root, or under another path, has its own number: symbols, lines and
 * paths are looked up in the root of the process that maps it. What was read from the file itself
 * is shared by all numbers with the same `content`.
 */
#ifndef PROC_FILESTORE_H
#define PROC_FILESTORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/build_id.h"
#include "base/cleanup.h"

#define FILESTORE_MAX_FILES (1u << 20)
/* Limit for the memory used by files held at the same time, including paths. A file usually takes
 * 500 bytes; root is not limited. Once all users together exceed it, users above an equal share are
 * refused. */
#define FILESTORE_USER_BYTES (32ull << 20)
#define FILESTORE_ALL_USERS_BYTES (256ull << 20)

struct procfs;
struct filestore;

struct file_key {
	uint32_t major, minor;
	uint64_t inode;
	uint64_t generation; /* of the inode */
	bool has_generation; /* /proc/<pid>/maps does not contain it */
};

struct file {
	uint32_t id;      /* index in the store; reused after this file is released */
	uint32_t content; /* the first number of the same inode */
	uint32_t root;    /* root of the processes that map it: for filestore_root() */
	const char *path; /* owned by the store; as those processes see it, without " (deleted)" */
	bool is_deleted;
	int fd;         /* owned by the store; -1: could not be opened, or closed over the limit */
	bool is_copy;   /* fd is a copy in memory, because the file system may block */
	int open_error; /* errno of the attempt; 0: open; EMFILE: closed over the limit */
	uint64_t dev, ino, mtime_ns, size; /* from fstat(); 0 if never opened */
	struct build_id build_id;          /* as reported by the kernel; len 0: unknown */
};

struct filestore_stats {
	uint64_t nr_released;          /* files released by filestore_sweep() */
	uint64_t nr_closed_over_limit; /* descriptors closed to make room, counted each time */
	uint64_t nr_refused;           /* mappings of users who have too many files */
};

/*
 * The store belongs to one thread. Others may read it under the lock, which that thread holds while
 * it may change the store. The lock is recursive.
 */
void filestore_lock(const struct filestore *s);
void filestore_unlock(const struct filestore *s);

/* A copy with its own descriptor, which the caller closes; any thread. The path is borrowed from
 * the store while the file is held. */
void filestore_take(const struct filestore *s, uint32_t id, struct file *ret_file);

/* procfs is borrowed until filestore_free(). At most max_fds are kept open. */
int filestore_new(const struct procfs *procfs, unsigned int max_fds, struct filestore **ret_store);
struct filestore *filestore_free(struct filestore *s);
DEFINE_CLEANUP(struct filestore *, filestore_free)

/* How to reach the file: a process that has it mapped and where, and (0: none) its parent, whose
 * root is tried when the process is gone. root: the process's, from filestore_find_root(). payer: who
 * is charged (accounts.h). */
struct file_hint {
	pid_t pid, ppid;
	uint64_t start, end;
	uint32_t root;
	uint64_t payer;
};

/*
 * Finds or adds the file, opening it if necessary: through map_files; if the process is gone, by
 * path in the parent's root, then in our own, but then only if it is proven to be the same file, by
 * device and inode, or by build_id through `verify` (below). A file that cannot be opened is
 * recorded without a descriptor. build_id may be NULL. -EDQUOT: the payer has too many; -ENOMEM;
 * -E2BIG.
 */
int filestore_add(struct filestore *s, const struct file_key *key, const char *path,
		  const struct build_id *build_id, const struct file_hint *hint, uint32_t *ret_id);

/* Returns the actual build-id of the file behind fd (this module cannot parse ELF). Set once. */
typedef int (*file_build_id_fn)(void *ctx, int fd, struct build_id *ret_id);
void filestore_set_verifier(struct filestore *s, file_build_id_fn fn, void *ctx);

/* To be called when the kernel reports the build-id after the file was added. Records it, unless
 * one was recorded before. If the file was never opened, that is retried, since it can now be
 * verified. */
int filestore_set_build_id(struct filestore *s, uint32_t id, const struct build_id *build_id,
			   const struct file_hint *hint);

/*
 * A file is held while something refers to it: mappings, each counting once, and models that have
 * samples in it until they are named. filestore_sweep() releases files without holders, with their
 * descriptors and paths, because a capture may last for days and keep seeing new files. A file that
 * is mapped again later is a new one.
 */
void filestore_ref(struct filestore *s, uint32_t id);
void filestore_unref(struct filestore *s, uint32_t id);

/* Called for each file without holders; false: it is still needed, ask again next time. NULL: no
 * file is needed. Call only when no number is in transit from filestore_add() to a mapping. */
typedef bool (*file_gone_fn)(void *ctx, uint32_t id);
void filestore_sweep(struct filestore *s, file_gone_fn fn, void *ctx);

/* NULL if the number is invalid, or the file was released. The pointer is stable until the
 * release. */
const struct file *filestore_get(const struct filestore *s, uint32_t id);

const struct procfs *filestore_procfs(const struct filestore *s); /* borrowed */

/* The number of the root of process pid; ROOT_UNKNOWN. */
uint32_t filestore_find_root(struct filestore *s, pid_t pid);

/* The root into which a path from /proc/<pid>/maps leads, and the path there: see roots_place(). */
uint32_t filestore_place(const struct filestore *s, uint32_t root, const char **path);

/* An O_PATH descriptor of a file's root, or of our own (ROOT_OWN), to resolve its path. Borrowed
 * until filestore_free(); -1: none. */
int filestore_root(const struct filestore *s, uint32_t root);
uid_t filestore_root_user(const struct filestore *s, uint32_t root); /* its owner */

/* True if an open file is unchanged: a target may write to it in place, and its contents then say
 * nothing about the code that ran. */
bool file_is_unchanged(const struct file *f);

uint32_t filestore_nr(const struct filestore *s);      /* numbers ever assigned */
uint32_t filestore_nr_held(const struct filestore *s); /* without released ones */
unsigned int filestore_nr_fds(const struct filestore *s);
struct filestore_stats filestore_stats(const struct filestore *s);

#endif
