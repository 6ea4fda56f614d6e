/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a process and their stacks, as /proc shows them. Nothing is stopped for it. */
#ifndef INJECT_THREAD_LOOK_H
#define INJECT_THREAD_LOOK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct maps_entry;
struct procfs;

#define THREAD_LOOK_STATUS_BYTES (2u << 20) /* it may list 65,536 groups */
#define THREAD_LOOK_MAX 16                  /* threads of a process that are listed */

/* One thread, as /proc shows it. */
struct thread_look {
	char state;
	bool is_traced;
	int seccomp;
	uint64_t caught; /* signals that have handlers */
	bool is_fragile; /* see thread_syscall_is_fragile() */
};

int thread_look_at(const struct procfs *procfs, pid_t pid, pid_t tid, struct thread_look *ret_look);

/* A file of the thread, ended with 0. -ESRCH: the process does not have it; -ENODATA: empty. */
int thread_look_text(const struct procfs *procfs, pid_t pid, pid_t tid, const char *name,
		     size_t max_bytes, struct buf *to);

/* Returns their number. */
uint32_t thread_look_list(const struct procfs *procfs, pid_t pid, pid_t tids[THREAD_LOOK_MAX]);

/* Where stacks may be: memory of no file, because writing to a file's pages could take for ever. Read
 * before a thread is stopped. NULL: no memory; nothing was read: there are none. */
struct stacks;
struct stacks *thread_look_stacks(const struct procfs *procfs, pid_t pid); /* free() */
/* Whether n bytes are left below sp. */
bool thread_look_has_stack(const struct stacks *stacks, uint64_t sp, uint64_t n);

bool thread_look_has_no_file(const struct maps_entry *e);

#endif
