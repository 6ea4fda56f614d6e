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
#define FORGIVEN_SHARE 100 /* of the time that passes, one part in so many */

static uint64_t limit_or(uint64_t limit, uint64_t usual)
{
	return limit ? limit : usual;
}

void wait_accounts_init(struct wait_accounts *a, const struct wait_limits *l)
{
	static const uint64_t reserved[] = { PAYER_ROOT, PAYER_OWN_ROOT, PAYER_OTHERS };
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
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		a->items[a->nr++].payer = reserved[i];
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

static struct wait_account *find(struct wait_accounts *a, uint64_t payer)
{
	struct wait_account *others = NULL;

	for (uint32_t i = 0; i < a->nr; i++) {
		if (a->items[i].payer == payer)
			return &a->items[i];
		if (a->items[i].payer == PAYER_OTHERS)
			others = &a->items[i];
	}
	return a->nr == WAIT_ACCOUNTS_MAX ? others : NULL;
}

static struct wait_account *find_or_add(struct wait_accounts *a, uint64_t payer)
{
	struct wait_account *known = find(a, payer);

	if (known)
		return known;
	a->items[a->nr] = (struct wait_account){ .payer = payer };
	return &a->items[a->nr++];
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
	for (uint32_t i = 0; i < a->nr; i++) {
		a->items[i].slept_ns = less(a->items[i].slept_ns, share_ns);
		a->items[i].text_ns = less(a->items[i].text_ns, share_ns);
	}
}

/* One of those who have a limit together. */
static bool is_user(uint64_t payer)
{
	return payer != PAYER_ROOT && payer != PAYER_OWN_ROOT;
}

/* Over an equal part of what all users may cost together, which they have. */
static bool is_over_share(const struct wait_accounts *a, const struct wait_account *of)
{
	uint64_t nr = 0;

	if (a->all_ns < a->limits.all_ns || !is_user(of->payer))
		return false;
	for (uint32_t i = 0; i < a->nr; i++)
		nr += is_user(a->items[i].payer) && a->items[i].slept_ns;
	return of->slept_ns * nr > a->limits.all_ns;
}

static bool is_spent(const struct wait_accounts *a, const struct wait_account *of)
{
	return of->slept_ns >= (of->payer == PAYER_ROOT ? a->limits.root_ns : a->limits.user_ns);
}

static bool is_short(const struct wait_accounts *a, const struct wait_account *of)
{
	return is_in_a_hurry(a) || is_spent(a, of) || is_over_share(a, of);
}

static bool is_refused(const struct wait_accounts *a, const struct wait_account *of,
		       enum wait_kind kind)
{
	if (is_in_a_hurry(a) && a->hurry_ns >= a->limits.hurry_ns)
		return true;
	if (of->payer == PAYER_ROOT)
		return false;
	if (kind == WAIT_TEXT)
		return of->text_ns >= a->limits.user_ns;
	return is_spent(a, of) || (is_in_a_hurry(a) && of->slept_ns >= a->limits.short_deadline_ns);
}

static struct reader_wait grant(const struct wait_accounts *a, const struct wait_account *of)
{
	uint64_t deadline_ns = is_short(a, of) ? a->limits.short_deadline_ns
					       : a->limits.deadline_ns;
	uint64_t left_ns = less(a->limits.user_ns, of->slept_ns);

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
	struct wait_account nobody = { .payer = payer };
	struct wait_account *of;
	int result = 0;

	pthread_mutex_lock(&a->lock);
	forgive(a);
	of = find(a, payer);
	of = of ? of : &nobody;
	*ret_wait = grant(a, of);
	if (is_refused(a, of, kind)) {
		result = of->is_told || is_in_a_hurry(a) ? -ETIMEDOUT : -EDQUOT;
		of->is_told |= result == -EDQUOT;
	}
	pthread_mutex_unlock(&a->lock);
	return result;
}

void wait_accounts_charge(struct wait_accounts *a, uint64_t payer, enum wait_kind kind,
			  uint64_t slept_ns)
{
	struct wait_account *of;

	if (!slept_ns)
		return;
	pthread_mutex_lock(&a->lock);
	of = find_or_add(a, payer);
	of->slept_ns += slept_ns;
	of->text_ns += kind == WAIT_TEXT ? slept_ns : 0;
	a->total_ns += slept_ns;
	if (is_user(payer))
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
