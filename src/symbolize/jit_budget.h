/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reading perf maps and jitdumps may cost in a capture: bytes, charged before a list is read, to the
 * user who wrote it and to all. A process costs nothing to fork, and each reads its parents' lists again,
 * so a limit per list is none. What one process needs a list for is charged once, though it is read
 * for each purpose. Memory is not what this bounds: that goes with the sampled addresses, not with the
 * bytes of lists, which are streamed. Any thread.
 */
#ifndef SYMBOLIZE_JIT_BUDGET_H
#define SYMBOLIZE_JIT_BUDGET_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolize/symbolizer.h"

#define JIT_BUDGET_BYTES (4ull << 30) /* for all */
/* For one user; root has what there is. 40 workers of Node with maps of 30 MB each have 1.2 GB. */
#define JIT_BUDGET_USER_BYTES (3ull << 29)
#define JIT_BUDGET_LIST_BYTES (1ull << 30) /* of one list; the rest is not read */
#define JIT_BUDGET_USERS 32                /* users who find no place share the last */
#define JIT_BUDGET_LISTS 512               /* more are charged for each purpose */

/* A list that has been charged, and what for it has been read since. */
struct jit_budget_list {
	uint64_t dev, ino, bytes;
	uint32_t purposes; /* bits: 1 << enum jit_purpose */
};

struct jit_budget {
	pthread_mutex_t lock; /* of all that follows */
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

/* How much of the file may be read; 0: nothing, it is over the limits. b: NULL, all of it. Reading for the same
 * purpose again is for another process, and is charged again. */
uint64_t jit_budget_take(struct jit_budget *b, int fd, enum jit_purpose purpose);

#endif
