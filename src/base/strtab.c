/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strtab.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

#define CHUNK_BYTES 65536u

struct span {
	const char *s;
	size_t len;
};

static bool span_eq(const void *owner, uint32_t id, const void *key)
{
	const struct strtab *t = owner;
	const struct span *k = key;

	return strncmp(t->strings[id], k->s, k->len) == 0 && t->strings[id][k->len] == '\0';
}

int strtab_init(struct strtab *t)
{
	uint32_t id;
	int r;

	*t = (struct strtab){ .seed = hash_new_seed(t) };
	r = strtab_intern_n(t, "", 0, &id);
	if (r < 0)
		strtab_done(t);
	return r;
}

void strtab_done(struct strtab *t)
{
	for (uint32_t i = 0; i < t->nr_chunks; i++)
		free(t->chunks[i]);
	free(t->chunks);
	free(t->strings);
	idtable_done(&t->index);
	*t = (struct strtab){ 0 };
}

static int add_chunk(struct strtab *t, size_t need)
{
	size_t size = need > CHUNK_BYTES ? need : CHUNK_BYTES;
	char *chunk;
	int r;

	if (size > STRTAB_MAX_BYTES - t->total_bytes)
		return -E2BIG;
	r = ARRAY_RESERVE(t->chunks, t->cap_chunks, t->nr_chunks + 1, STRTAB_MAX_BYTES);
	if (r < 0)
		return r;
	chunk = malloc(size);
	if (!chunk)
		return -ENOMEM;
	t->chunks[t->nr_chunks++] = chunk;
	t->chunk_used = 0;
	t->chunk_size = size;
	t->total_bytes += size;
	return 0;
}

static int store(struct strtab *t, struct span k, const char **ret_s)
{
	char *at;
	int r;

	if (t->chunk_size - t->chunk_used < k.len + 1) {
		r = add_chunk(t, k.len + 1);
		if (r < 0)
			return r;
	}
	at = t->chunks[t->nr_chunks - 1] + t->chunk_used;
	memcpy(at, k.s, k.len);
	at[k.len] = '\0';
	t->chunk_used += k.len + 1;
	*ret_s = at;
	return 0;
}

int strtab_intern_n(struct strtab *t, const char *s, size_t len, uint32_t *ret_id)
{
	struct span k = { s, strnlen(s, len) };
	uint64_t h = hash_bytes_seeded(t->seed, k.s, k.len);
	int r;

	if (idtable_find(&t->index, h, span_eq, t, &k, ret_id))
		return 0;
	r = ARRAY_RESERVE(t->strings, t->cap_strings, t->nr_strings + 1, UINT32_MAX);
	if (r < 0)
		return r;
	r = idtable_reserve(&t->index);
	if (r < 0)
		return r;
	r = store(t, k, &t->strings[t->nr_strings]);
	if (r < 0)
		return r;
	idtable_insert(&t->index, h, t->nr_strings);
	*ret_id = t->nr_strings++;
	return 0;
}

int strtab_intern(struct strtab *t, const char *s, uint32_t *ret_id)
{
	return strtab_intern_n(t, s, strlen(s), ret_id);
}

const char *strtab_get(const struct strtab *t, uint32_t id)
{
	return t->strings[id];
}
