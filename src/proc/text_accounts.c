/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/text_accounts.h"

#include "base/clock.h"

void text_accounts_init(struct text_accounts *a)
{
	*a = (struct text_accounts){ .last_ns = clock_mono_ns() };
	pthread_mutex_init(&a->lock, NULL);
}

void text_accounts_done(struct text_accounts *a)
{
	pthread_mutex_destroy(&a->lock);
}

bool text_accounts_are_clean(struct text_accounts *a)
{
	bool is_clean;

	pthread_mutex_lock(&a->lock);
	is_clean = !a->nr;
	pthread_mutex_unlock(&a->lock);
	return is_clean;
}

static struct text_account *find(struct text_accounts *a, uint64_t payer)
{
	for (uint32_t i = 0; i < a->nr; i++)
		if (a->items[i].payer == payer)
			return &a->items[i];
	return a->nr == TEXT_ACCOUNTS_MAX ? &a->items[a->nr - 1] : NULL;
}

static struct text_account *find_or_add(struct text_accounts *a, uint64_t payer)
{
	struct text_account *known = find(a, payer);

	if (known)
		return known;
	a->items[a->nr] = (struct text_account){ .payer = payer };
	return &a->items[a->nr++];
}

static void give_back(struct text_accounts *a)
{
	uint64_t now_ns = clock_mono_ns();
	uint64_t bytes = (now_ns - a->last_ns) / NS_PER_MS * TEXT_BYTES_PER_S / 1000;

	if (now_ns - a->last_ns < NS_PER_S)
		return;
	a->last_ns = now_ns;
	for (uint32_t i = 0; i < a->nr; i++)
		a->items[i].bytes -= bytes < a->items[i].bytes ? bytes : a->items[i].bytes;
}

uint64_t text_accounts_max_bytes(struct text_accounts *a, uint64_t payer)
{
	const struct text_account *of;
	uint64_t used;

	pthread_mutex_lock(&a->lock);
	give_back(a);
	of = find(a, payer);
	used = of ? of->bytes : 0;
	pthread_mutex_unlock(&a->lock);
	return TEXT_FREE_BYTES + (used < TEXT_USER_BYTES ? TEXT_USER_BYTES - used : 0);
}

bool text_accounts_charge(struct text_accounts *a, uint64_t payer, uint64_t bytes, bool is_cut)
{
	struct text_account *of;
	bool is_news;

	if (bytes <= TEXT_FREE_BYTES && !is_cut)
		return false;
	pthread_mutex_lock(&a->lock);
	of = find_or_add(a, payer);
	of->bytes += bytes > TEXT_FREE_BYTES ? bytes - TEXT_FREE_BYTES : 0;
	is_news = is_cut && !of->is_told;
	of->is_told |= is_cut;
	pthread_mutex_unlock(&a->lock);
	return is_news;
}
