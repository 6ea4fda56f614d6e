/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/wait_accounts.h"

#include <errno.h>

#include "base/clock.h"

#define USER_NS (1500 * NS_PER_MS)
#define ALL_NS (3 * NS_PER_S)
#define ROOT_NS (10 * NS_PER_S)
#define HURRY_NS (500 * NS_PER_MS)
#define DEADLINE_NS (250 * NS_PER_MS)
#define SHORT_DEADLINE_NS (50 * NS_PER_MS)
#define FORGIVEN_SHARE 100 /* one part in this many of the elapsed time is credited */

/* The costs in accounts. */
enum { SLEPT_NS, TEXT_NS /* part of it for text */ };

static uint64_t limit_or(uint64_t limit, uint64_t usual)
{
	return limit ? limit : usual;
}

void wait_accounts_init(struct wait_accounts *a, const struct wait_limits *l)
{
	static const struct wait_limits usual;

	l = l ? l : &usual;
	*a = (struct wait_accounts){
		.limits = { .user_ns = limit_or(l->user_ns, USER_NS),
			    .all_ns = limit_or(l->all_ns, ALL_NS),
			    .root_ns = limit_or(l->root_ns, ROOT_NS),
			    .hurry_ns = limit_or(l->hurry_ns, HURRY_NS),
			    .deadline_ns = limit_or(l->deadline_ns, DEADLINE_NS),
			    .short_deadline_ns =
				    limit_or(l->short_deadline_ns, SHORT_DEADLINE_NS) },
		.last_ns = clock_mono_ns(),
		.is_clean = true,
	};
	accounts_init(&a->users);
	pthread_mutex_init(&a->lock, NULL);
}

void wait_accounts_done(struct wait_accounts *a)
{
	pthread_mutex_destroy(&a->lock);
}

static bool is_in_a_hurry(const struct wait_accounts *a)
{
	return a->hurry.is_asked && a->hurry.is_asked(a->hurry.ctx);
}

static uint64_t less(uint64_t value, uint64_t by)
{
	return value > by ? value - by : 0;
}

static void forgive(struct wait_accounts *a)
{
	uint64_t now_ns = clock_mono_ns(), share_ns = (now_ns - a->last_ns) / FORGIVEN_SHARE;

	if (share_ns < NS_PER_MS)
		return;
	a->last_ns = now_ns;
	a->all_ns = less(a->all_ns, share_ns);
	accounts_credit(&a->users, SLEPT_NS, share_ns);
	accounts_credit(&a->users, TEXT_NS, share_ns);
}

/* True for users above an equal share of the common limit. */
static bool is_over_share(const struct wait_accounts *a, const struct account *of)
{
	return a->all_ns >= a->limits.all_ns &&
	       accounts_is_above_share(&a->users, of, SLEPT_NS, a->limits.all_ns);
}

static bool is_spent(const struct wait_accounts *a, const struct account *of)
{
	return of->costs[SLEPT_NS] >=
	       (of->payer == PAYER_ROOT ? a->limits.root_ns : a->limits.user_ns);
}

static bool is_short(const struct wait_accounts *a, const struct account *of)
{
	return is_in_a_hurry(a) || is_spent(a, of) || is_over_share(a, of);
}

static bool is_refused(const struct wait_accounts *a, const struct account *of, enum wait_kind kind)
{
	if (is_in_a_hurry(a) && a->hurry_ns >= a->limits.hurry_ns)
		return true;
	if (of->payer == PAYER_ROOT)
		return false;
	if (kind == WAIT_TEXT)
		return of->costs[TEXT_NS] >= a->limits.user_ns;
	return is_spent(a, of) ||
	       (is_in_a_hurry(a) && of->costs[SLEPT_NS] >= a->limits.short_deadline_ns);
}

static struct reader_wait grant(const struct wait_accounts *a, const struct account *of)
{
	uint64_t deadline_ns = is_short(a, of) ? a->limits.short_deadline_ns
					       : a->limits.deadline_ns;
	uint64_t left_ns = less(a->limits.user_ns, of->costs[SLEPT_NS]);

	return (struct reader_wait){
		.deadline_ns = deadline_ns,
		.budget_ns = left_ns > deadline_ns ? left_ns : deadline_ns,
		.cancel = a->hurry.is_asked ? &a->hurry : NULL,
		.cancelled_deadline_ns = a->limits.short_deadline_ns,
	};
}

int wait_accounts_ask(struct wait_accounts *a, uint64_t payer, enum wait_kind kind,
		      struct reader_wait *ret_wait)
{
	struct account nobody = { .payer = payer };
	struct account *of;
	int result = 0;

	pthread_mutex_lock(&a->lock);
	forgive(a);
	of = accounts_find(&a->users, payer);
	of = of ? of : &nobody;
	*ret_wait = grant(a, of);
	if (is_refused(a, of, kind)) {
		result = of->is_reported || is_in_a_hurry(a) ? -ETIMEDOUT : -EDQUOT;
		of->is_reported |= result == -EDQUOT;
	}
	pthread_mutex_unlock(&a->lock);
	return result;
}

void wait_accounts_charge(struct wait_accounts *a, uint64_t payer, enum wait_kind kind,
			  uint64_t slept_ns)
{
	struct account *of;

	if (!slept_ns)
		return;
	pthread_mutex_lock(&a->lock);
	of = accounts_find_or_add(&a->users, payer);
	of->costs[SLEPT_NS] += slept_ns;
	of->costs[TEXT_NS] += kind == WAIT_TEXT ? slept_ns : 0;
	a->total_ns += slept_ns;
	if (account_is_users(of))
		a->all_ns += slept_ns;
	if (is_in_a_hurry(a))
		a->hurry_ns += slept_ns;
	a->is_clean = false;
	pthread_mutex_unlock(&a->lock);
}

void wait_accounts_set_root(struct wait_accounts *a, int root_fd, uint64_t payer)
{
	pthread_mutex_lock(&a->lock);
	if (a->nr_roots < WAIT_ROOTS_MAX) {
		a->roots[a->nr_roots].fd = root_fd;
		a->roots[a->nr_roots++].payer = payer;
	}
	pthread_mutex_unlock(&a->lock);
}

uint64_t wait_accounts_root_payer(struct wait_accounts *a, int root_fd)
{
	uint64_t payer = PAYER_OTHERS;

	pthread_mutex_lock(&a->lock);
	for (uint32_t i = 0; i < a->nr_roots; i++)
		if (a->roots[i].fd == root_fd)
			payer = a->roots[i].payer;
	pthread_mutex_unlock(&a->lock);
	return payer;
}

uint64_t wait_accounts_total_ns(struct wait_accounts *a)
{
	uint64_t total_ns;

	pthread_mutex_lock(&a->lock);
	total_ns = a->total_ns;
	pthread_mutex_unlock(&a->lock);
	return total_ns;
}
