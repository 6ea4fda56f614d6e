/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/jit_budget.h"

#include <sys/stat.h>

#define MIN_BYTES 4096u /* for a list that is still short: one that grows meanwhile ends there */

void jit_budget_init(struct jit_budget *b)
{
	*b = (struct jit_budget){ .left_bytes = JIT_BUDGET_BYTES };
	pthread_mutex_init(&b->lock, NULL);
}

void jit_budget_done(struct jit_budget *b)
{
	pthread_mutex_destroy(&b->lock);
}

static uint64_t *used_by(struct jit_budget *b, uid_t uid)
{
	uint32_t i = 0;

	while (i < b->nr_users && b->users[i].uid != uid)
		i++;
	if (i == JIT_BUDGET_USERS)
		return &b->users[i - 1].used_bytes;
	if (i == b->nr_users)
		b->users[b->nr_users++].uid = uid;
	return &b->users[i].used_bytes;
}

uint64_t jit_budget_take(struct jit_budget *b, int fd)
{
	uint64_t bytes, *used;
	struct stat st;

	if (!b)
		return JIT_BUDGET_LIST_BYTES;
	if (fstat(fd, &st) < 0)
		return 0;
	bytes = (uint64_t)st.st_size + MIN_BYTES;
	if (bytes > JIT_BUDGET_LIST_BYTES)
		bytes = JIT_BUDGET_LIST_BYTES;
	pthread_mutex_lock(&b->lock);
	used = used_by(b, st.st_uid);
	if (bytes > b->left_bytes || (st.st_uid && *used + bytes > JIT_BUDGET_USER_BYTES))
		bytes = 0;
	*used += bytes;
	b->left_bytes -= bytes;
	pthread_mutex_unlock(&b->lock);
	return bytes;
}
