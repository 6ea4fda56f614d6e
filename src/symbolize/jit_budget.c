/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/jit_budget.h"

#include <sys/stat.h>

#define MIN_BYTES 4096u /* for a file that is still short: growth beyond this is not read */

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

static struct jit_budget_list *find_list(struct jit_budget *b, const struct stat *st)
{
	for (uint32_t i = 0; i < b->nr_lists; i++)
		if (b->lists[i].ino == st->st_ino && b->lists[i].dev == st->st_dev)
			return &b->lists[i];
	if (b->nr_lists == JIT_BUDGET_LISTS)
		return NULL;
	b->lists[b->nr_lists] = (struct jit_budget_list){ .dev = st->st_dev, .ino = st->st_ino };
	return &b->lists[b->nr_lists++];
}

/* False if over the limits; then nothing is charged. */
static bool charge_user(struct jit_budget *b, uid_t user, uint64_t bytes)
{
	uint64_t *used = used_by(b, user);

	if (bytes > b->left_bytes || (user && *used + bytes > JIT_BUDGET_USER_BYTES))
		return false;
	*used += bytes;
	b->left_bytes -= bytes;
	return true;
}

/* A file that was charged before is charged only for its growth; if that exceeds the limit, it is
 * read up to its previous end. */
static uint64_t take_bytes(struct jit_budget *b, const struct stat *st, uint64_t bytes,
			   uint32_t purpose)
{
	struct jit_budget_list *l = find_list(b, st);

	if (!l)
		return charge_user(b, st->st_uid, bytes) ? bytes : 0;
	if (l->purposes & purpose)
		*l = (struct jit_budget_list){ .dev = l->dev, .ino = l->ino };
	if (bytes > l->bytes && charge_user(b, st->st_uid, bytes - l->bytes))
		l->bytes = bytes;
	l->purposes |= purpose;
	return bytes < l->bytes ? bytes : l->bytes;
}

uint64_t jit_budget_take(struct jit_budget *b, int fd, enum jit_purpose purpose)
{
	uint64_t bytes;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return 0;
	bytes = (uint64_t)st.st_size + MIN_BYTES;
	if (bytes > JIT_MAX_FILE_BYTES)
		bytes = JIT_MAX_FILE_BYTES;
	pthread_mutex_lock(&b->lock);
	bytes = take_bytes(b, &st, bytes, 1u << purpose);
	pthread_mutex_unlock(&b->lock);
	return bytes;
}

void jit_budget_limit(struct jit_budget *b, struct jit_symbol_files *files,
		      enum jit_purpose purpose)
{
	if (files->dump_fd >= 0)
		files->dump_max_bytes = jit_budget_take(b, files->dump_fd, purpose);
	if (files->map_fd >= 0)
		files->map_max_bytes = jit_budget_take(b, files->map_fd, purpose);
}
