/* SPDX-License-Identifier: Apache-2.0 */
#include "perfdata/perf_known.h"

#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"

#define MAX_ITEMS (1u << 24)
#define FEW_ITEMS 1024
#define UNUSED_NS (10 * NS_PER_S)

_Static_assert(sizeof(struct known_key) == 48, "keys are compared as bytes");

void known_done(struct known *k)
{
	idtable_done(&k->index);
	free(k->items);
	*k = (struct known){ 0 };
}

static uint64_t hash_of(const struct known *k, const struct known_key *key)
{
	return hash_bytes_seeded(k->seed, key, sizeof(*key));
}

static bool has_key(const void *owner, uint32_t id, const void *key)
{
	const struct known *k = owner;

	return memcmp(&k->items[id].key, key, sizeof(struct known_key)) == 0;
}

struct known_item *known_find(const struct known *k, const struct known_key *key)
{
	uint32_t at;

	return idtable_find(&k->index, hash_of(k, key), has_key, k, key, &at) ? &k->items[at]
									      : NULL;
}

static int add(struct known *k, const struct known_key *key, struct known_item **ret_item)
{
	int r = ARRAY_RESERVE(k->items, k->cap_items, (size_t)k->nr_items + 1, MAX_ITEMS);

	if (r == 0)
		r = idtable_reserve(&k->index);
	if (r < 0)
		return r;
	k->items[k->nr_items] = (struct known_item){ .key = *key, .serial = ++k->last_serial };
	idtable_insert(&k->index, hash_of(k, key), k->nr_items);
	*ret_item = &k->items[k->nr_items++];
	return 0;
}

int known_use(struct known *k, const struct known_key *key, uint64_t time_ns,
	      struct known_item **ret_item, bool *ret_is_new)
{
	struct known_item *item = known_find(k, key);
	int r = 0;

	*ret_is_new = !item;
	if (!item)
		r = add(k, key, &item);
	if (r < 0)
		return r;
	if (time_ns > item->used_ns)
		item->used_ns = time_ns;
	if (time_ns > k->newest_ns)
		k->newest_ns = time_ns;
	*ret_item = item;
	return 0;
}

void known_forget(struct known *k)
{
	uint32_t nr_kept = 0;

	if (k->nr_items < 2 * k->nr_kept + FEW_ITEMS)
		return;
	idtable_clear(&k->index);
	for (uint32_t i = 0; i < k->nr_items; i++) {
		if (!k->items[i].end_ns && k->newest_ns - k->items[i].used_ns > UNUSED_NS)
			continue;
		k->items[nr_kept] = k->items[i];
		idtable_insert(&k->index, hash_of(k, &k->items[nr_kept].key), nr_kept);
		nr_kept++;
	}
	k->nr_items = k->nr_kept = nr_kept;
}
