/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash index over items of another array: it stores (hash, id) pairs and asks its owner whether
 * item `id` equals a key. IDs are array indexes.
 */
#ifndef BASE_IDTABLE_H
#define BASE_IDTABLE_H

#include <stdbool.h>
#include <stdint.h>

struct idtable_slot {
	uint32_t hash;
	uint32_t id_plus_1; /* 0: free */
};

struct idtable {
	struct idtable_slot *slots; /* owned; the capacity is a power of two */
	uint32_t nr_slots;
	uint32_t nr_used;
};

/* True if item `id` equals `key`. */
typedef bool (*idtable_eq_fn)(const void *owner, uint32_t id, const void *key);

void idtable_done(struct idtable *t);

/* Removes all entries and keeps the capacity. */
void idtable_clear(struct idtable *t);

/* True and *ret_id if found. */
bool idtable_find(const struct idtable *t, uint64_t hash, idtable_eq_fn eq, const void *owner,
		  const void *key, uint32_t *ret_id);

/* Makes room for one more entry, so that the next idtable_insert() cannot fail. -ENOMEM, -E2BIG. */
int idtable_reserve(struct idtable *t);

/* id must not be in the table; idtable_reserve() must have succeeded since the last insert. */
void idtable_insert(struct idtable *t, uint64_t hash, uint32_t id);

#endif
