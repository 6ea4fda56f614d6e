/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/text_accounts.h"

#include "base/clock.h"

void text_accounts_init(struct text_accounts *a)
{
	*a = (struct text_accounts){ .last_ns = clock_mono_ns() };
	accounts_init(&a->users);
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
	is_clean = !a->is_dirty;
	pthread_mutex_unlock(&a->lock);
	return is_clean;
}

static void give_back(struct text_accounts *a)
{
	uint64_t now_ns = clock_mono_ns();
	uint64_t bytes = (now_ns - a->last_ns) / NS_PER_MS * TEXT_BYTES_PER_S / 1000;

	if (now_ns - a->last_ns < NS_PER_S)
		return;
	a->last_ns = now_ns;
	accounts_credit(&a->users, 0, bytes);
}

uint64_t text_accounts_max_bytes(struct text_accounts *a, uint64_t payer)
{
	const struct account *of;
	uint64_t used;

	pthread_mutex_lock(&a->lock);
	give_back(a);
	of = accounts_find(&a->users, payer);
	used = of ? of->costs[0] : 0;
	pthread_mutex_unlock(&a->lock);
	return TEXT_FREE_BYTES + (used < TEXT_USER_BYTES ? TEXT_USER_BYTES - used : 0);
}

bool text_accounts_charge(struct text_accounts *a, uint64_t payer, uint64_t bytes,
			  bool is_truncated)
{
	struct account *of;
	bool is_news;

	if (bytes <= TEXT_FREE_BYTES && !is_truncated)
		return false;
	pthread_mutex_lock(&a->lock);
	of = accounts_find_or_add(&a->users, payer);
	of->costs[0] += bytes > TEXT_FREE_BYTES ? bytes - TEXT_FREE_BYTES : 0;
	is_news = is_truncated && account_report(of);
	a->is_dirty = true;
	pthread_mutex_unlock(&a->lock);
	return is_news;
}
