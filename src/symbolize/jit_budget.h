/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reading perf maps and jitdumps may cost in a capture: bytes, charged before a list is read, to the
 * user who wrote it and to all. A process costs nothing to fork, and each reads its parents' lists again,
 * so a limit per list is none. Any thread.
 */
#ifndef SYMBOLIZE_JIT_BUDGET_H
#define SYMBOLIZE_JIT_BUDGET_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#define JIT_BUDGET_BYTES (4ull << 30)      /* for all */
#define JIT_BUDGET_USER_BYTES (1ull << 30) /* for one user; root has what there is */
#define JIT_BUDGET_LIST_BYTES (1ull << 30) /* of one list; the rest is not read */
#define JIT_BUDGET_USERS 32                /* users who find no place share the last */

struct jit_budget {
	pthread_mutex_t lock; /* of all that follows */
	uint64_t left_bytes;
	struct {
		uid_t uid;
		uint64_t used_bytes;
	} users[JIT_BUDGET_USERS];
	uint32_t nr_users;
};

void jit_budget_init(struct jit_budget *b);
void jit_budget_done(struct jit_budget *b);

/* How much of the file may be read; 0: nothing, it is over the limits. b: NULL, all of it. */
uint64_t jit_budget_take(struct jit_budget *b, int fd);

#endif
