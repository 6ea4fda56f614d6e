/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/accounts.h"

#include <stddef.h>

void accounts_init(struct accounts *a)
{
	static const uint64_t reserved[] = { PAYER_OTHERS, PAYER_ROOT, PAYER_OWN_ROOT };

	*a = (struct accounts){ 0 };
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		a->items[a->nr++].payer = reserved[i];
}

struct account *accounts_find(struct accounts *a, uint64_t payer)
{
	for (uint32_t i = 0; i < a->nr; i++)
		if (a->items[i].payer == payer)
			return &a->items[i];
	return a->nr == ACCOUNTS_MAX ? &a->items[0] : NULL; /* PAYER_OTHERS */
}

struct account *accounts_find_or_add(struct accounts *a, uint64_t payer)
{
	struct account *known = accounts_find(a, payer);

	if (known)
		return known;
	a->items[a->nr] = (struct account){ .payer = payer };
	return &a->items[a->nr++];
}

void accounts_credit(struct accounts *a, unsigned int cost, uint64_t amount)
{
	for (uint32_t i = 0; i < a->nr; i++) {
		uint64_t *owed = &a->items[i].costs[cost];

		*owed -= amount < *owed ? amount : *owed;
	}
}

bool account_is_users(const struct account *of)
{
	return of->payer != PAYER_ROOT && of->payer != PAYER_OWN_ROOT;
}

uint64_t accounts_users_sum(const struct accounts *a, unsigned int cost)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < a->nr; i++)
		sum += account_is_users(&a->items[i]) ? a->items[i].costs[cost] : 0;
	return sum;
}

bool accounts_is_above_share(const struct accounts *a, const struct account *of, unsigned int cost,
			     uint64_t limit)
{
	uint64_t nr = 0;

	if (!account_is_users(of))
		return false;
	for (uint32_t i = 0; i < a->nr; i++)
		nr += account_is_users(&a->items[i]) && a->items[i].costs[cost];
	return of->costs[cost] * nr > limit;
}

bool account_report(struct account *of)
{
	bool is_first = !of->is_reported;

	of->is_reported = true;
	return is_first;
}
