/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files behind filestore.h:
 *   filestore.c          finds, adds and opens files
 *   filestore_entries.c  numbers: given, held, released, given again; who pays for them
 *   filestore_fds.c      the open ones among them, up to a limit
 *   filestore_index.c    from what the kernel reports to a number
 */
#ifndef PROC_FILESTORE_INTERNAL_H
#define PROC_FILESTORE_INTERNAL_H

#include <pthread.h>

#include "base/idtable.h"
#include "proc/accounts.h"
#include "proc/file_open.h"
#include "proc/file_path.h"
#include "proc/filestore.h"
#include "proc/roots.h"

#define NO_FILE UINT32_MAX

struct entry {
	struct file file;
	uint64_t serial;            /* unlike its number, never given to another */
	struct file_key key;        /* as first reported; the generation may be added later */
	struct file_path *raw_path; /* owned reference; as the kernel gave it */
	struct file_path *path;     /* owned reference; the file's */
	/* another number of the same inode; NO_FILE: this is the holder */
	uint32_t prev_view;
	uint32_t next_view;          /* NO_FILE: this is the last */
	uint32_t lru_prev, lru_next; /* among its account's open files; NO_FILE at the ends */
	uint64_t retry_ns;           /* opening failed slowly: not tried again before this time */
	uint32_t nr_refs;
	uint32_t account; /* index in accounts.items */
	uint32_t bytes;   /* charged to it */
	bool is_idle;     /* in the store's list */
};

/* A number, as stored by the indexes: the file may have been released, and its number reused. */
struct entry_ref {
	uint32_t file;
	uint64_t serial;
};

struct alias {
	uint32_t major, minor;
	uint64_t inode;
	uint64_t path_hash;
	struct file_path *path; /* owned reference; as reported by the kernel */
	uint32_t root;
	struct entry_ref to;
};

struct inode {
	uint64_t dev, ino;
	struct entry_ref to;
};

/* The open files of one account, least recently used first. */
struct fd_queue {
	uint32_t oldest, newest; /* NO_FILE: empty */
	uint32_t nr;
};

/* The costs in accounts. */
enum { FILE_BYTES };

struct filestore {
	struct file_opener opener;
	unsigned int max_fds;
	unsigned int nr_fds;
	struct fd_queue fds[ACCOUNTS_MAX];
	struct accounts accounts;
	struct filestore_stats stats;

	/* Owned, with its items, which never move, because callers hold pointers. NULL:
	 * released. */
	struct entry **entries;
	uint32_t nr_entries, cap_entries;
	uint64_t last_serial;
	uint32_t *unused; /* owned; numbers of released files */
	uint32_t nr_unused, cap_unused;
	uint32_t *idle; /* owned; files without holders, or that had none for a while */
	uint32_t nr_idle, cap_idle;

	uint32_t nr_stale;     /* released files that are still in the indexes, */
	uint64_t stale_bytes;  /* size of those in the indexes */
	struct alias *aliases; /* owned */
	uint32_t nr_aliases, cap_aliases;
	struct idtable by_alias;
	struct inode *inodes; /* owned */
	uint32_t nr_inodes, cap_inodes;
	struct idtable by_inode;
	struct roots roots;
	pthread_mutex_t lock;
};

/* ---- filestore_entries.c ---- */

/* The entry that holds the descriptor. */
struct entry *entry_holder(const struct filestore *s, const struct entry *e);

/* The holder's data has changed: updates its views. */
void entry_update_views(struct filestore *s, const struct entry *holder);

/* True if the payer may not have more files. */
bool entries_are_refused(struct filestore *s, uint64_t payer);

/* Creates an entry for a new file, not opened yet. -EDQUOT: its payer has too many; -ENOMEM;
 * -E2BIG. */
int entry_create(struct filestore *s, const struct file_request *rq, struct entry **ret_entry);

/* Creates another number for holder's inode: a view. Errors as for entry_create(). */
int entry_create_view(struct filestore *s, struct entry *holder, const struct file_request *rq,
		      struct entry **ret_entry);

/* -ENOMEM: unchanged. */
int entry_set_path(struct entry *e, const char *path, size_t len);

void entry_free(struct entry *e);

/* ---- filestore_fds.c ---- */

/* The store takes over the file's descriptor. */
void entry_hold_fd(struct filestore *s, struct entry *e, const struct reader_file *f);
void entry_touch_fd(struct filestore *s, struct entry *e);
void entry_close_fd(struct filestore *s, struct entry *e);

/* ---- filestore_index.c ---- */

/* NULL if there is none, or the file was released. */
struct entry *alias_find(const struct filestore *s, const struct file_request *rq);
int alias_set(struct filestore *s, const struct file_request *rq, const struct entry *e);

struct entry *inode_find(const struct filestore *s, uint64_t dev, uint64_t ino);
int inode_set(struct filestore *s, uint64_t dev, uint64_t ino, const struct entry *e);

/* Drops entries that refer to released files, if that is worth the work. */
void index_clean(struct filestore *s);
void index_done(struct filestore *s);

#endif
