/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who did not answer, so that nobody's deadline is paid twice in a short time: a process, a root, a folder
 * of our own root. (Of file systems the reader itself knows, of users wait_accounts.h.) Any thread.
 */
#ifndef PROC_UNANSWERED_H
#define PROC_UNANSWERED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"

#define UNANSWERED_MAX 64             /* of each kind; over it the oldest go */
#define UNANSWERED_MAX_ITEMS 16       /* that are told by name */
#define UNANSWERED_TEXT_SIZE 128      /* of a path, its end is what counts */
#define UNANSWERED_NS (30 * NS_PER_S) /* then it is tried again */

/* What there is to tell of one that did not answer. */
struct unanswered_item {
	pid_t pid; /* whose file or memory it was; 0: not known */
	char what[UNANSWERED_TEXT_SIZE];
};

struct unanswered_pid {
	pid_t pid;
	uint64_t until_ns;
	int pidfd; /* owned; tells when the number is free for another process; -1: not to be had */
};

struct unanswered_place {
	uint64_t key;
	uint64_t until_ns;
};

struct unanswered {
	atomic_int own_root_fd; /* the descriptor that is held of our own root; -1: none so far */
	pthread_mutex_t lock;   /* of all that follows */
	struct unanswered_pid pids[UNANSWERED_MAX];
	struct unanswered_place folders[UNANSWERED_MAX]; /* by the hash of the path */
	struct unanswered_place roots[UNANSWERED_MAX];   /* by descriptor */
	uint32_t nr_pids, nr_folders, nr_roots;
	struct unanswered_item items[UNANSWERED_MAX_ITEMS];
	uint32_t nr_items;
	uint64_t nr; /* of all, also those that are not among the items */
};

void unanswered_init(struct unanswered *u);
void unanswered_done(struct unanswered *u);

bool unanswered_has_pid(struct unanswered *u, pid_t pid);
void unanswered_note_pid(struct unanswered *u, pid_t pid, const char *what);

/* Only to be reported: it was too slow, and its user or file system is not asked any more. pid 0: whose it
 * is is not known. */
void unanswered_tell(struct unanswered *u, pid_t pid, const char *what);

/* root_fd: as long as it is held; -1: our own root, where only the folder counts. */
bool unanswered_has_path(struct unanswered *u, int root_fd, const char *path);
void unanswered_note_path(struct unanswered *u, int root_fd, const char *path);

#endif
