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
	   "ordinary lists are charged to nobody");
	ok(!text_accounts_charge(&a, 1000, all / 2, false) && !text_accounts_are_clean(&a) &&
		   text_accounts_max_bytes(&a, 1000) == all - (all / 2 - TEXT_FREE_BYTES),
	   "long ones are, less what is free");
	ok(text_accounts_max_bytes(&a, 1001) == all, "to one user alone");
	ok(text_accounts_charge(&a, 1000, all, true), "one that is cut is told");
	ok(!text_accounts_charge(&a, 1000, TEXT_FREE_BYTES, true), "once");
	ok(text_accounts_max_bytes(&a, 1000) == TEXT_FREE_BYTES, "an ordinary list is still read");
	a.last_ns -= 3600 * NS_PER_S;
	ok(text_accounts_max_bytes(&a, 1000) == all, "with time, all is given back");
	text_accounts_done(&a);
}

static void test_many(void)
{
	uint64_t sum = 0;

	text_accounts_init(&a);
	for (uint64_t user = 1; user <= 4 * TEXT_ACCOUNTS_MAX; user++) {
		sum += text_accounts_max_bytes(&a, user) - TEXT_FREE_BYTES;
		(void)text_accounts_charge(&a, user, TEXT_FREE_BYTES + TEXT_USER_BYTES, false);
	}
	ok(sum <= (TEXT_ACCOUNTS_MAX + 1) * TEXT_USER_BYTES,
	   "however many users there are, it ends");
	text_accounts_done(&a);
}

int main(void)
{
	test_one();
	test_many();
	return tap_done();
}
