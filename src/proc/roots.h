/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root folders of processes, each held once: what a process could have opened can be looked up
 * after it has gone, as long as the number of different roots (containers) stays below a limit.
 */
#ifndef PROC_ROOTS_H
#define PROC_ROOTS_H

#include <stdint.h>
#include <sys/types.h>

#define ROOTS_MAX 64 /* descriptors; a host runs some tens of containers */
#define ROOT_OWN 0   /* the number of our own root */

struct procfs;

struct root {
	uint64_t dev, ino;
	uint64_t mount; /* tells namespaces apart whose root is one folder */
	int fd;         /* O_PATH; owned */
};

struct roots {
	struct root items[ROOTS_MAX]; /* [ROOT_OWN] is our own */
	uint32_t nr;                  /* 0: not even our own could be opened so far */
};

void roots_done(struct roots *r);

/* The number of the root of pid, or, when that is gone, of ppid (0: none). ROOT_OWN when neither can
 * be had, or when the limit is met. */
uint32_t roots_of(struct roots *r, const struct procfs *p, pid_t pid, pid_t ppid);

/* Borrowed until roots_done(); -1: there is none. */
int roots_fd(const struct roots *r, uint32_t number);

#endif
