/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/text_accounts.h"

#include "base/clock.h"
#include "tap.h"

static struct text_accounts a;

static void test_one(void)
{
	const uint64_t all = TEXT_FREE_BYTES + TEXT_USER_BYTES;

	text_accounts_init(&a);
	ok(!text_accounts_charge(&a, 1000, TEXT_FREE_BYTES, false) && text_accounts_are_clean(&a) &&
		   text_accounts_max_bytes(&a, 1000) == all,
	   "ordinary lists are not charged");
	ok(!text_accounts_charge(&a, 1000, all / 2, false) && !text_accounts_are_clean(&a) &&
		   text_accounts_max_bytes(&a, 1000) == all - (all / 2 - TEXT_FREE_BYTES),
	   "long lists are charged, minus the free part");
	ok(text_accounts_max_bytes(&a, 1001) == all, "a list is charged to one user only");
	ok(text_accounts_charge(&a, 1000, all, true), "a truncated list is reported");
	ok(!text_accounts_charge(&a, 1000, TEXT_FREE_BYTES, true), "once");
	ok(text_accounts_max_bytes(&a, 1000) == TEXT_FREE_BYTES,
	   "an ordinary list is read even if the account is used up");
	a.last_ns -= 3600 * NS_PER_S;
	ok(text_accounts_max_bytes(&a, 1000) == all, "everything is credited back with time");
	text_accounts_done(&a);
}

static void test_many(void)
{
	uint64_t sum = 0;

	text_accounts_init(&a);
	for (uint64_t user = 1; user <= 4 * ACCOUNTS_MAX; user++) {
		sum += text_accounts_max_bytes(&a, user) - TEXT_FREE_BYTES;
		(void)text_accounts_charge(&a, user, TEXT_FREE_BYTES + TEXT_USER_BYTES, false);
	}
	ok(sum <= (ACCOUNTS_MAX + 1) * TEXT_USER_BYTES,
	   "the total is bounded for any number of users");
	text_accounts_done(&a);
}

int main(void)
{
	test_one();
	test_many();
	return tap_done();
}
