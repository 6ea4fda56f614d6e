/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root directories of processes, each held once, so that a process's files can be looked up
 * after it has gone, as long as the number of distinct roots (containers) stays below a limit.
 *
 * A root is a directory on a mount. Every mount namespace has its own mounts, so a user who creates
 * one (unshare -Urm) and mounts other files in it has another root, although the directory is the
 * same. Namespaces of the agent's root that were created by a user with privileges over the agent's
 * user namespace count as the agent's root: service managers create one for nearly every service.
 *
 * A user other than root may hold half of the roots that all others leave, so that nobody who creates
 * hundreds of them takes the room of everybody's containers.
 */
#ifndef PROC_ROOTS_H
#define PROC_ROOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ROOTS_MAX 256 /* descriptors; busy hosts run some hundred containers */
#define ROOT_OWN 0    /* the number of our own root */
/* the process was gone before its root could be looked up, or over the limit */
#define ROOT_UNKNOWN (UINT32_MAX)

struct procfs;

struct root {
	uint64_t dev, ino;
	uint64_t mount;  /* distinguishes namespaces with the same root directory */
	uid_t user;      /* owner of the directory */
	uint64_t payer;  /* the user who first ran a process in it */
	uint32_t number; /* its number, or ROOT_OWN */
	char *prefix;   /* owned; prefix of its paths in /proc/<pid>/maps; NULL: none (no chroot) */
	bool is_chroot; /* a directory in our own mount namespace */
	int fd;         /* O_PATH; owned: while it is held, its mount ID is not reused */
};

struct roots {
	struct root items[ROOTS_MAX]; /* [ROOT_OWN] is our own */
	uint32_t nr;                  /* 0: not even our own could be opened yet */
};

void roots_done(struct roots *r);

/* The number of the root of pid; ROOT_UNKNOWN. */
uint32_t roots_of(struct roots *r, const struct procfs *p, pid_t pid);

/* The descriptor of a root; borrowed until roots_done(); -1 if there is none. */
int roots_fd(const struct roots *r, uint32_t number);

/* The owner of that directory; 0 if unknown. */
uid_t roots_user(const struct roots *r, uint32_t number);

/* The root in which a path from /proc/<pid>/maps of a process with that root is valid, and the path
 * there. The kernel shows paths relative to the reader's root if it can. Files that a process
 * mapped before it entered a chroot (browsers use an empty directory) are not in there, but in our
 * own root. */
uint32_t roots_place(const struct roots *r, uint32_t number, const char **path);

#endif
