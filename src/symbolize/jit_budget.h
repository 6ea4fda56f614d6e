/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits the reading of perf maps and jitdumps in a capture: bytes, charged before a file is read,
 * to the user who wrote it and to all. Forking a process costs nothing, and each process reads its
 * parents' files again, so a limit per file is not enough. A file that one process needs for
 * several purposes is charged once, although it is read for each. This does not limit memory, which
 * grows with the sampled addresses and not with the bytes of files, which are streamed. May be
 * called by any thread.
 */
#ifndef SYMBOLIZE_JIT_BUDGET_H
#define SYMBOLIZE_JIT_BUDGET_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolize/symbolizer_jit.h"

#define JIT_BUDGET_BYTES (4ull << 30) /* for all users */
/* Per user; root has only the total limit. 40 workers of Node with maps of 30 MB each need 1.2 GB.
 * */
#define JIT_BUDGET_USER_BYTES (3ull << 29)
#define JIT_BUDGET_USERS 32  /* users without a slot share the last one */
#define JIT_BUDGET_LISTS 512 /* further files are charged for each purpose */

/* The purpose of reading a file. */
enum jit_purpose {
	JIT_FOR_CODE,    /* symbols of a process's own code */
	JIT_FOR_FILES,   /* symbols of code in files */
	JIT_FOR_MOMENTS, /* when code was replaced */
};

/* A charged file, and the purposes for which it has been read since. */
struct jit_budget_list {
	uint64_t dev, ino, bytes;
	uint32_t purposes; /* bits: 1 << enum jit_purpose */
};

struct jit_budget {
	pthread_mutex_t lock; /* protects the members below */
	uint64_t left_bytes;
	struct {
		uid_t uid;
		uint64_t used_bytes;
	} users[JIT_BUDGET_USERS];
	uint32_t nr_users;
	struct jit_budget_list lists[JIT_BUDGET_LISTS];
	uint32_t nr_lists;
};

void jit_budget_init(struct jit_budget *b);
void jit_budget_done(struct jit_budget *b);

/* Returns how much of the file may be read; 0: nothing, it is over the limits. Reading it again for
 * the same purpose is done for another process, and charged again. */
uint64_t jit_budget_take(struct jit_budget *b, int fd, enum jit_purpose purpose);

/* Sets the limits of both files, which are about to be read. */
void jit_budget_limit(struct jit_budget *b, struct jit_symbol_files *files,
		      enum jit_purpose purpose);

#endif
