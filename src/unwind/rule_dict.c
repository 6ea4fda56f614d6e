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

static void place_in_hash(struct rule_dict *d, uint16_t id)
{
	uint32_t at = home_of(d, d->rules[id]);

	while (d->slots[at] != FREE)
		at = (at + 1) & (d->nr_slots - 1);
	d->slots[at] = id;
}

/* Keeps at most half of the slots in use, so that searches are short and terminate. */
static int reserve_slots(struct rule_dict *d)
{
	uint32_t nr = d->nr_slots ? d->nr_slots * 2 : FIRST_SLOTS, nr_before = d->nr_slots;
	uint16_t *slots, *before = d->slots;

	if ((d->nr + 1) * 2 <= d->nr_slots)
		return 0;
	slots = malloc(nr * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, nr * sizeof(*slots));
	d->slots = slots;
	d->nr_slots = nr;
	for (uint32_t i = 0; i < nr_before; i++)
		if (before[i] != FREE)
			place_in_hash(d, before[i]);
	free(before);
	return 0;
}

/* Takes a freed number if there is one, otherwise the next. */
static int take_number(struct rule_dict *d, uint16_t *ret_id)
{
	int r;

	if (d->nr_free) {
		*ret_id = (uint16_t)d->first_free;
		d->first_free = (uint32_t)d->rules[d->first_free];
		d->nr_free--;
		return 0;
	}
	r = ARRAY_RESERVE(d->rules, d->cap, d->nr + 1, PA_MAX_RULES);
	if (r == 0)
		r = ARRAY_RESERVE(d->holds, d->cap_holds, d->nr + 1, PA_MAX_RULES);
	if (r < 0)
		return r;
	*ret_id = (uint16_t)d->nr++;
	return 0;
}

static int add_word(struct rule_dict *d, pa_rule rule, uint16_t *ret_id)
{
	int r;

	r = reserve_slots(d);
	if (r < 0)
		return r;
	r = take_number(d, ret_id);
	if (r < 0)
		return r;
	d->rules[*ret_id] = rule;
	d->holds[*ret_id] = 0;
	place_in_hash(d, *ret_id);
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
	if (rule_dict_room(d))
		return add_word(d, rule, ret_id);
	d->nr_refused++;
	*ret_id = PA_RULE_ID_USER;
	return 0;
}

int rule_dict_hold(struct rule_dict *d, pa_rule rule, uint16_t *ret_id)
{
	int r = rule_dict_intern(d, rule, ret_id);

	if (r == 0)
		d->holds[*ret_id]++;
	return r;
}

/* Entries that were displaced by the freed slot would not be found any more: move them up. */
static void clear_slot(struct rule_dict *d, uint32_t at)
{
	uint32_t mask = d->nr_slots - 1;

	for (uint32_t next = (at + 1) & mask; d->slots[next] != FREE; next = (next + 1) & mask) {
		uint32_t home = home_of(d, d->rules[d->slots[next]]);

		if (((next - home) & mask) < ((next - at) & mask))
			continue;
		d->slots[at] = d->slots[next];
		at = next;
	}
	d->slots[at] = FREE;
}

void rule_dict_let_go(struct rule_dict *d, uint16_t id)
{
	uint32_t at = home_of(d, d->rules[id]);

	if (--d->holds[id] || id <= PA_RULE_ID_USER)
		return;
	while (d->slots[at] != id)
		at = (at + 1) & (d->nr_slots - 1);
	clear_slot(d, at);
	d->rules[id] = d->first_free;
	d->first_free = id;
	d->nr_free++;
}

uint32_t rule_dict_room(const struct rule_dict *d)
{
	uint32_t nr = d->nr - d->nr_free;

	return nr < d->max ? d->max - nr : 0;
}

int rule_dict_init(struct rule_dict *d)
{
	static const pa_rule fixed[] = {
		[PA_RULE_ID_NONE] = PA_RULE_WORD_NONE,
		[PA_RULE_ID_USER] = PA_RULE_WORD_USER,
	};
	uint16_t id;
	int r = 0;

	*d = (struct rule_dict){ .max = PA_MAX_RULES };
	for (size_t i = 0; r == 0 && i < sizeof(fixed) / sizeof(fixed[0]); i++)
		r = add_word(d, fixed[i], &id);
	if (r < 0)
		rule_dict_done(d);
	return r;
}

void rule_dict_done(struct rule_dict *d)
{
	free(d->rules);
	free(d->holds);
	free(d->slots);
	*d = (struct rule_dict){ 0 };
}
