/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers what did not answer, so that a deadline is not paid twice in a short time: a process, a
 * root, a directory of our own root. (The reader itself remembers file systems, wait_accounts.h
 * users.) May be called by any thread.
 */
#ifndef PROC_UNANSWERED_H
#define PROC_UNANSWERED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"

#define UNANSWERED_MAX 64             /* of each kind; the oldest ones are dropped */
#define UNANSWERED_MAX_ITEMS 16       /* reported by name */
#define UNANSWERED_TEXT_SIZE 128      /* if a path is longer, its end is kept */
#define UNANSWERED_NS (30 * NS_PER_S) /* after this time it is tried again */

/* Describes one thing that did not answer. */
struct unanswered_item {
	pid_t pid; /* of the file or memory; 0: unknown */
	char what[UNANSWERED_TEXT_SIZE];
};

struct unanswered_pid {
	pid_t pid;
	uint64_t until_ns;
	int pidfd; /* owned; shows when the PID may be reused; -1: unavailable */
};

struct unanswered_place {
	uint64_t key;
	uint64_t until_ns;
};

struct unanswered {
	atomic_int own_root_fd; /* the descriptor of our own root; -1: none yet */
	pthread_mutex_t lock;   /* protects the members below */
	struct unanswered_pid pids[UNANSWERED_MAX];
	struct unanswered_place folders[UNANSWERED_MAX]; /* by the hash of the path */
	struct unanswered_place roots[UNANSWERED_MAX];   /* by descriptor */
	uint32_t nr_pids, nr_folders, nr_roots;
	struct unanswered_item items[UNANSWERED_MAX_ITEMS];
	uint32_t nr_items;
	uint64_t nr; /* total, including those not among the items */
};

void unanswered_init(struct unanswered *u);
void unanswered_done(struct unanswered *u);

bool unanswered_has_pid(struct unanswered *u, pid_t pid);
void unanswered_note_pid(struct unanswered *u, pid_t pid, const char *what);

/* For the report only: it was too slow, and its user or file system is not asked any more. pid 0:
 * unknown. */
void unanswered_report(struct unanswered *u, pid_t pid, const char *what);

/* root_fd: valid while it is held; -1: our own root, for which only the directory is compared. */
bool unanswered_has_path(struct unanswered *u, int root_fd, const char *path);
void unanswered_note_path(struct unanswered *u, int root_fd, const char *path);

#endif
