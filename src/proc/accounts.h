/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What users have cost, in one account per payer (payer.h), so that a user who costs too much is
 * refused and others are not. The table is never flushed: users for whom there is no room share one
 * account. Root, our own root and unknown users always have their own. Has no lock of its own: the
 * owner has one.
 */
#ifndef PROC_ACCOUNTS_H
#define PROC_ACCOUNTS_H

#include <stdbool.h>
#include <stdint.h>

#define ACCOUNTS_MAX 64
#define ACCOUNT_NR_COSTS 2

/* Payers: a user ID, or one of these. */
#define PAYER_ROOT 0ull             /* the superuser; never refused */
#define PAYER_OWN_ROOT (1ull << 32) /* paths of our own root, for which no one is to blame */
#define PAYER_OTHERS (1ull << 33)   /* users without an account, or unknown */

struct account {
	uint64_t payer;
	/* after credits, see accounts_credit(); their meaning is up to the owner */
	uint64_t costs[ACCOUNT_NR_COSTS];
	bool is_reported; /* the first refusal was reported */
};

struct accounts {
	struct account items[ACCOUNTS_MAX];
	uint32_t nr;
};

void accounts_init(struct accounts *a);

/* NULL: the payer has no account yet, and nothing was charged. */
struct account *accounts_find(struct accounts *a, uint64_t payer);
struct account *accounts_find_or_add(struct accounts *a, uint64_t payer);

/* Reduces one cost of every account. */
void accounts_credit(struct accounts *a, unsigned int cost, uint64_t amount);

/* True if the account shares limits with others: everyone's but root's. */
bool account_is_users(const struct account *of);

/* The sum of one cost over all users. */
uint64_t accounts_users_sum(const struct accounts *a, unsigned int cost);

/* True for a user above an equal share of a limit, among the users who have that cost. */
bool accounts_is_above_share(const struct accounts *a, const struct account *of, unsigned int cost,
			     uint64_t limit);

/* True once per account: the refusal has not been reported. */
bool account_report(struct account *of);

#endif
