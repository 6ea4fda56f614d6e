/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/rule_dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

#define FREE 0xffff
#define FIRST_SLOTS 1024
_Static_assert(PA_MAX_RULES <= FREE, "0xffff must stay free");

static uint32_t home_of(const struct rule_dict *d, pa_rule rule)
{
	return (uint32_t)(hash_mix(0, rule) >> 32) & (d->nr_slots - 1);
}

static void place(struct rule_dict *d, uint16_t id)
{
	uint32_t at = home_of(d, d->rules[id]);

	while (d->slots[at] != FREE)
		at = (at + 1) & (d->nr_slots - 1);
	d->slots[at] = id;
}

/* Keeps at most half of the slots in use, so that a search is short and has an end. */
static int reserve_slots(struct rule_dict *d)
{
	uint32_t nr = d->nr_slots ? d->nr_slots * 2 : FIRST_SLOTS;
	uint16_t *slots;

	if ((d->nr + 1) * 2 <= d->nr_slots)
		return 0;
	slots = malloc(nr * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, nr * sizeof(*slots));
	free(d->slots);
	d->slots = slots;
	d->nr_slots = nr;
	for (uint32_t id = 0; id < d->nr; id++)
		place(d, (uint16_t)id);
	return 0;
}

static int add(struct rule_dict *d, pa_rule rule, uint16_t *ret_id)
{
	int r;

	r = reserve_slots(d);
	if (r < 0)
		return r;
	r = ARRAY_RESERVE(d->rules, d->cap, d->nr + 1, PA_MAX_RULES);
	if (r < 0)
		return r;
	d->rules[d->nr] = rule;
	place(d, (uint16_t)d->nr);
	*ret_id = (uint16_t)d->nr++;
	return 0;
}

bool rule_dict_find(const struct rule_dict *d, pa_rule rule, uint16_t *ret_id)
{
	for (uint32_t at = home_of(d, rule);; at = (at + 1) & (d->nr_slots - 1)) {
		uint16_t id = d->slots[at];

		if (id == FREE)
			return false;
		if (d->rules[id] == rule) {
			*ret_id = id;
			return true;
		}
	}
}

int rule_dict_intern(struct rule_dict *d, pa_rule rule, uint16_t *ret_id)
{
	if (rule_dict_find(d, rule, ret_id))
		return 0;
	if (d->nr < PA_MAX_RULES)
		return add(d, rule, ret_id);
	d->nr_refused++;
	*ret_id = PA_RULE_ID_USER;
	return 0;
}

int rule_dict_init(struct rule_dict *d)
{
	static const pa_rule fixed[] = {
		[PA_RULE_ID_NONE] = PA_RULE_WORD_NONE,
		[PA_RULE_ID_USER] = PA_RULE_WORD_USER,
	};
	uint16_t id;
	int r = 0;

	*d = (struct rule_dict){ 0 };
	for (size_t i = 0; r == 0 && i < sizeof(fixed) / sizeof(fixed[0]); i++)
		r = add(d, fixed[i], &id);
	if (r < 0)
		rule_dict_done(d);
	return r;
}

void rule_dict_done(struct rule_dict *d)
{
	free(d->rules);
	free(d->slots);
	*d = (struct rule_dict){ 0 };
}
