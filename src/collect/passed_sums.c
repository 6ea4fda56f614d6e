/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/passed_sums.h"

#include "base/array.h"
#include "base/hash.h"

void passed_sums_done(struct passed_sums *p)
{
	idtable_done(&p->by_id);
	free(p->all);
	*p = (struct passed_sums){ 0 };
}

static bool is_sum(const void *owner, uint32_t at, const void *key)
{
	return ((const struct passed_sums *)owner)->all[at].id == *(const uint64_t *)key;
}

struct passed_sum *passed_sums_find(const struct passed_sums *p, uint64_t id)
{
	uint32_t at;

	return idtable_find(&p->by_id, hash_mix(0, id), is_sum, p, &id, &at) ? &p->all[at] : NULL;
}

int passed_sums_get(struct passed_sums *p, uint64_t id, struct passed_sum **ret_sum)
{
	int r;

	*ret_sum = passed_sums_find(p, id);
	if (*ret_sum)
		return 0;
	r = ARRAY_RESERVE(p->all, p->cap, p->nr + 1, PA_MAX_WAITS);
	if (r == 0)
		r = idtable_reserve(&p->by_id);
	if (r < 0)
		return r;
	idtable_insert(&p->by_id, hash_mix(0, id), p->nr);
	p->all[p->nr] = (struct passed_sum){ .id = id };
	*ret_sum = &p->all[p->nr++];
	return 0;
}
