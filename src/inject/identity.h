/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tells whether a process still runs the program that was looked at, with the same rights. An
 * exec keeps the process ID and the start time, so those alone prove nothing.
 */
#ifndef INJECT_IDENTITY_H
#define INJECT_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct procfs;

#define IDENTITY_NR_IDS 4 /* real, effective, saved, and for files */
#define IDENTITY_NR_ADDRS 5
#define IDENTITY_AUXV_BYTES 768

struct identity {
	uint64_t start_ticks; /* of the process */
	uint32_t uids[IDENTITY_NR_IDS], gids[IDENTITY_NR_IDS];
	uint64_t permitted, effective; /* capabilities */
	bool is_dumpable;              /* as far as can be seen: not for root */
	bool is_of_own_namespace;      /* of users: the same as ours */
	/* of the memory: where the kernel placed the program, its stack and its heap at the exec, and
	 * what it told the program about it */
	uint64_t addrs[IDENTITY_NR_ADDRS];
	uint32_t auxv_bytes;
	uint8_t auxv[IDENTITY_AUXV_BYTES];
};

/* As thread tid of process pid shows it. -ESRCH: that process does not have it; other errors: it
 * cannot be told. */
int identity_read(const struct procfs *procfs, pid_t pid, pid_t tid, struct identity *ret_identity);

/* As its first thread shows it, or, if that has ended, another one. */
int identity_read_process(const struct procfs *procfs, pid_t pid, struct identity *ret_identity);

/* Of one process, and nothing was executed in between. */
bool identity_is_same(const struct identity *a, const struct identity *b);

/* Nothing was executed in between; the rights may be others. Also of a process and a fork of it. */
bool identity_has_same_memory(const struct identity *a, const struct identity *b);

/* True if it has rights beyond those of its user, or what it may do is not settled. Nothing is
 * called in such a process. */
bool identity_is_privileged(const struct identity *i);

#endif
