/* SPDX-License-Identifier: Apache-2.0 */
#include "names/naming_owners.h"

#include <string.h>

void naming_owners_init(struct naming_owners *o, bool is_interrupted)
{
	pthread_mutex_init(&o->lock, NULL);
	o->nr = 0;
	o->part = is_interrupted ? NAMING_INTERRUPTED_PART : 1;
	memset(o->used_ns, 0, sizeof(o->used_ns));
}

void naming_owners_done(struct naming_owners *o)
{
	pthread_mutex_destroy(&o->lock);
}

static struct naming_owner *find_owner(struct naming_owners *o, uint32_t root, uid_t user)
{
	for (uint32_t i = 0; i < o->nr; i++)
		if (o->items[i].root == root && o->items[i].user == user)
			return &o->items[i];
	if (o->nr == NAMING_MAX_OWNERS)
		return &o->items[o->nr - 1];
	o->items[o->nr] = (struct naming_owner){ .root = root, .user = user };
	return &o->items[o->nr++];
}

static uint64_t left(uint64_t max, uint64_t used)
{
	return used < max ? max - used : 0;
}

/* What an owner gets when the common time is used up. */
static uint64_t late_left(const struct naming_owners *o, uint64_t used_by_owner,
			  uint64_t used_by_all)
{
	uint64_t of_owner = left(NAMING_OWNER_MIN_NS / o->part, used_by_owner);
	uint64_t late_used = left(used_by_all, NAMING_OWNERS_MAX_NS / o->part);
	uint64_t part = left(NAMING_LATE_MAX_NS / o->part, late_used) / NAMING_LATE_PARTS;

	return of_owner < part ? of_owner : part;
}

uint64_t naming_owners_left_ns(struct naming_owners *o, enum naming_account account, uint32_t root,
			       uid_t user)
{
	uint64_t used, of_owner, of_all, least;

	pthread_mutex_lock(&o->lock);
	used = find_owner(o, root, user)->used_ns[account];
	of_owner = left(NAMING_OWNER_MAX_NS / o->part, used);
	of_all = left(NAMING_OWNERS_MAX_NS / o->part, o->used_ns[account]);
	least = late_left(o, used, o->used_ns[account]);
	pthread_mutex_unlock(&o->lock);
	if (of_all < of_owner)
		of_owner = of_all > least ? of_all : least;
	return of_owner ? of_owner : 1;
}

void naming_owners_charge(struct naming_owners *o, enum naming_account account, uint32_t root,
			  uid_t user, uint64_t cpu_ns)
{
	pthread_mutex_lock(&o->lock);
	find_owner(o, root, user)->used_ns[account] += cpu_ns;
	o->used_ns[account] += cpu_ns;
	pthread_mutex_unlock(&o->lock);
}
