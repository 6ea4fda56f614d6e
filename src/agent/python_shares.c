/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/python_shares.h"

#include "base/array.h"
#include "base/clock.h"

#define MAX_USERS 4096
#define ROUND_NS (50 * NS_PER_MS)
#define MAX_UNANSWERED 3

uint32_t python_shares_of(struct python_shares *s, uint64_t payer)
{
	for (uint32_t i = 0; i < s->nr; i++)
		if (s->items[i].payer == payer)
			return i;
	if (ARRAY_RESERVE(s->items, s->cap, s->nr + 1, MAX_USERS) < 0)
		return s->nr ? s->nr - 1 : 0;
	s->items[s->nr] = (struct python_share){ .payer = payer };
	return s->nr++;
}

void python_shares_new_round(struct python_shares *s)
{
	for (uint32_t i = 0; i < s->nr; i++)
		s->items[i].used_ns = 0;
}

bool python_shares_has_time(const struct python_shares *s, uint32_t user)
{
	return user >= s->nr || s->items[user].used_ns < ROUND_NS;
}

void python_shares_charge(struct python_shares *s, uint32_t user, uint64_t ns)
{
	if (user < s->nr)
		s->items[user].used_ns += ns;
}

void python_shares_note_unanswered(struct python_shares *s, uint32_t user)
{
	if (user < s->nr)
		s->items[user].nr_unanswered++;
}

bool python_shares_is_served(const struct python_shares *s, uint32_t user)
{
	return user >= s->nr || s->items[user].nr_unanswered < MAX_UNANSWERED;
}

void python_shares_done(struct python_shares *s)
{
	free(s->items);
	*s = (struct python_shares){ 0 };
}
