/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that targets have mapped. Each is opened once, on first sight, and kept open (up to a
 * limit), so that it can be read after the process is gone or the file is unlinked or replaced.
 *
 * Identity: an open file is known by (device, inode, mtime, size) of fstat(). The kernel's own key
 * (major, minor, inode) leads to it without opening again: as long as we hold the file open its
 * inode cannot be reused. A file that could not be opened is known by its kernel key with the
 * inode's generation, and its build-id if the kernel told it.
 *
 * The same file in another root, or under another path, has a number of its own: names, lines and
 * paths are looked up where the process is that has it mapped, which is another place then. What
 * was read from the file itself is common to all numbers with the same `content`.
 */
#ifndef PROC_FILESTORE_H
#define PROC_FILESTORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/build_id.h"
#include "base/cleanup.h"

#define FILESTORE_MAX_FILES (1u << 20)

struct procfs;
struct filestore;

struct file_key {
	uint32_t major, minor;
	uint64_t inode;
	uint64_t generation; /* of the inode */
	bool has_generation; /* /proc/<pid>/maps does not tell it */
};

struct file {
	uint32_t id;      /* index in the store; no other file ever has it */
	uint32_t content; /* the first number of the same inode */
	uint32_t root;    /* of the processes that have it mapped: for filestore_root() */
	const char *path; /* owned by the store; as they see it, without " (deleted)" */
	bool is_deleted;
	int fd;         /* owned by the store; -1: could not be opened, or closed over the limit */
	bool is_copy;   /* fd is a copy in memory: the file system may not always answer */
	int open_error; /* errno of the attempt; 0: open; EMFILE: closed over the limit */
	uint64_t dev, ino, mtime_ns, size; /* of fstat(); 0 when never opened */
	struct build_id build_id;          /* as the kernel told; len 0: not told */
};

struct filestore_stats {
	uint64_t nr_released;          /* files given back by filestore_sweep() */
	uint64_t nr_opened;            /* files that were opened, once each */
	uint64_t nr_unopened;          /* files that never were */
	uint64_t nr_closed_over_limit; /* descriptors closed to make room, each time */
};

/* procfs is borrowed until filestore_free(). At most max_fds are kept open. */
int filestore_new(const struct procfs *procfs, unsigned int max_fds, struct filestore **ret_store);
struct filestore *filestore_free(struct filestore *s);
DEFINE_CLEANUP(struct filestore *, filestore_free)

/* How to reach the file: the process that has it mapped and where, and (0: none) its parent, whose
 * root is tried when the process is gone. root: the process's, as filestore_find_root() says. */
struct file_hint {
	pid_t pid, ppid;
	uint64_t start, end;
	uint32_t root;
};

/*
 * Finds or adds the file, opening it if need be: through map_files; else, when the process is gone,
 * by path in the parent's root, then in our own, and then only if it is proven to be the same file:
 * by device and inode, or by build_id through `verify` (below). Never fails for want of the file:
 * it is then recorded without one. build_id may be NULL. -ENOMEM, -E2BIG.
 */
int filestore_add(struct filestore *s, const struct file_key *key, const char *path,
		  const struct build_id *build_id, const struct file_hint *hint, uint32_t *ret_id);

/* Says what build-id the file behind fd really has (this module cannot read ELF). Set once. */
typedef int (*file_build_id_fn)(void *ctx, int fd, struct build_id *ret_id);
void filestore_set_verifier(struct filestore *s, file_build_id_fn fn, void *ctx);

/* The kernel told the build-id after the file was added: noted, the first one told stays; if the
 * file was never opened, that is tried again, now that it can be verified. */
int filestore_tell_build_id(struct filestore *s, uint32_t id, const struct build_id *build_id,
			    const struct file_hint *hint);

/*
 * A file is held while mappings show it, each of which counts once, or for good once it is kept: it has
 * samples, and will be read again in the end. What nobody holds is given back by filestore_sweep(), with
 * its descriptor: a capture may last for days and see new files all the time. A file that is mapped again
 * later is a new one. The path stays; it is what costs least.
 */
void filestore_ref(struct filestore *s, uint32_t id);
void filestore_unref(struct filestore *s, uint32_t id);
void filestore_keep(struct filestore *s, uint32_t id);

/* Asked of each file that nobody holds; false: somebody needs it after all, ask again next time. NULL:
 * nobody does. Only when no number is on its way from filestore_add() to a mapping. */
typedef bool (*file_gone_fn)(void *ctx, uint32_t id);
void filestore_sweep(struct filestore *s, file_gone_fn fn, void *ctx);

/* NULL: no such number, or it was given back. The file stays where it is until then. */
const struct file *filestore_get(const struct filestore *s, uint32_t id);

const struct procfs *filestore_procfs(const struct filestore *s); /* borrowed */

/* The number of the root of process pid; ROOT_UNKNOWN. */
uint32_t filestore_find_root(struct filestore *s, pid_t pid);

/* The root that a path from /proc/<pid>/maps leads into, and the path there: see roots_place(). */
uint32_t filestore_place(const struct filestore *s, uint32_t root, const char **path);

/* Where a file's path leads somewhere: an O_PATH descriptor of its root, or of our own (ROOT_OWN).
 * Borrowed until filestore_free(); -1: there is none. */
int filestore_root(const struct filestore *s, uint32_t root);
uid_t filestore_root_user(const struct filestore *s, uint32_t root); /* who owns it */

/* Whether an open file still is what was opened: a target may write to it in place, and then what
 * is read now says nothing of the code that ran. */
bool file_is_unchanged(const struct file *f);

uint32_t filestore_nr(const struct filestore *s);      /* of all that ever were */
uint32_t filestore_nr_held(const struct filestore *s); /* of those that were not given back */
unsigned int filestore_nr_fds(const struct filestore *s);
struct filestore_stats filestore_stats(const struct filestore *s);

#endif
