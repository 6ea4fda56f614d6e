/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root folders of processes, each held once: what a process could have opened can be looked up
 * after it has gone, as long as the number of different roots (containers) stays below a limit.
 *
 * A root is a folder on a mount. Every mount namespace has mounts of its own, so a user who makes
 * one (unshare -Urm) and puts other files into it has another root, though the folder is the same.
 * Namespaces that somebody with privileges over the agent's own user namespace has made of its own
 * root count as that root: service managers make one for nearly every service.
 */
#ifndef PROC_ROOTS_H
#define PROC_ROOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ROOTS_MAX 256             /* descriptors; busy hosts run some hundred containers */
#define ROOT_OWN 0                /* the number of our own root */
#define ROOT_UNKNOWN (UINT32_MAX) /* gone before it could be looked at, or over the limit */

struct procfs;

struct root {
	uint64_t dev, ino;
	uint64_t mount;  /* tells namespaces apart whose root is one folder */
	uid_t user;      /* who owns it */
	uint32_t number; /* its own, or ROOT_OWN */
	char *prefix;    /* owned; of its paths in /proc/<pid>/maps; NULL: none (no chroot) */
	bool is_chroot;  /* a folder of our own mount namespace */
	int fd;          /* O_PATH; owned: while it is held, no other mount gets its number */
};

struct roots {
	struct root items[ROOTS_MAX]; /* [ROOT_OWN] is our own */
	uint32_t nr;                  /* 0: not even our own could be opened so far */
};

void roots_done(struct roots *r);

/* The number of the root of pid; ROOT_UNKNOWN. */
uint32_t roots_of(struct roots *r, const struct procfs *p, pid_t pid);

/* Borrowed until roots_done(); -1: there is none. */
int roots_fd(const struct roots *r, uint32_t number);

/* Who owns that folder; 0 where it is not known. */
uid_t roots_user(const struct roots *r, uint32_t number);

/* Where a path in /proc/<pid>/maps of a process with that root leads somewhere; the path there. The
 * kernel shows paths from the root of who reads, where it can. What a process has mapped before it
 * went into a chroot (browsers do that to an empty folder) is not in there, but in our own root. */
uint32_t roots_place(const struct roots *r, uint32_t number, const char **path);

#endif
