/* SPDX-License-Identifier: Apache-2.0 */
#include "base/idtable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define IDTABLE_FIRST_SLOTS 64
#define IDTABLE_MAX_SLOTS (1u << 30)

void idtable_done(struct idtable *t)
{
	free(t->slots);
	*t = (struct idtable){ 0 };
}

void idtable_clear(struct idtable *t)
{
	if (t->nr_slots)
		memset(t->slots, 0, t->nr_slots * sizeof(*t->slots));
	t->nr_used = 0;
}

static uint32_t fold(uint64_t hash)
{
	return (uint32_t)(hash ^ (hash >> 32));
}

bool idtable_find(const struct idtable *t, uint64_t hash, idtable_eq_fn eq, const void *owner,
		  const void *key, uint32_t *ret_id)
{
	uint32_t h = fold(hash), mask = t->nr_slots - 1;

	if (!t->nr_slots)
		return false;
	for (uint32_t i = h & mask; t->slots[i].id_plus_1; i = (i + 1) & mask) {
		if (t->slots[i].hash != h || !eq(owner, t->slots[i].id_plus_1 - 1, key))
			continue;
		*ret_id = t->slots[i].id_plus_1 - 1;
		return true;
	}
	return false;
}

static void place_slot(struct idtable_slot *slots, uint32_t nr_slots, struct idtable_slot s)
{
	uint32_t i = s.hash & (nr_slots - 1);

	while (slots[i].id_plus_1)
		i = (i + 1) & (nr_slots - 1);
	slots[i] = s;
}

int idtable_reserve(struct idtable *t)
{
	uint32_t nr = t->nr_slots ? t->nr_slots * 2 : IDTABLE_FIRST_SLOTS;
	struct idtable_slot *slots;

	if (t->nr_slots && t->nr_used < t->nr_slots / 4 * 3)
		return 0;
	if (nr > IDTABLE_MAX_SLOTS)
		return -E2BIG;
	slots = calloc(nr, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->nr_slots; i++)
		if (t->slots[i].id_plus_1)
			place_slot(slots, nr, t->slots[i]);
	free(t->slots);
	t->slots = slots;
	t->nr_slots = nr;
	return 0;
}

void idtable_insert(struct idtable *t, uint64_t hash, uint32_t id)
{
	place_slot(t->slots, t->nr_slots,
		   (struct idtable_slot){ .hash = fold(hash), .id_plus_1 = id + 1 });
	t->nr_used++;
}
