/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/clock.h"
#include "proc/reader.h"
#include "proc/wait_accounts.h"
#include "tap.h"

#define USER 1000u

static const struct wait_limits few = { .user_ns = 10 * NS_PER_S,
					.all_ns = 15 * NS_PER_S,
					.root_ns = 20 * NS_PER_S,
					.hurry_ns = 2 * NS_PER_S,
					.deadline_ns = 5 * NS_PER_S,
					.short_deadline_ns = NS_PER_S };

static bool may_ask(struct wait_accounts *a, uint64_t payer, uint64_t deadline_ns)
{
	struct reader_wait wait;

	return wait_accounts_ask(a, payer, WAIT_FILE, &wait) == 0 &&
	       wait.deadline_ns == deadline_ns;
}

static void test_accounts(void)
{
	struct wait_accounts a;

	wait_accounts_init(&a, &few);
	wait_accounts_charge(&a, USER, WAIT_FILE, 9 * NS_PER_S);
	ok(may_ask(&a, USER, 5 * NS_PER_S), "accounts: a user is asked while the account lasts");
	wait_accounts_charge(&a, USER, WAIT_FILE, 2 * NS_PER_S);
	ok(!may_ask(&a, USER, 5 * NS_PER_S) && may_ask(&a, USER + 1, 5 * NS_PER_S),
	   "accounts: a used-up account does not affect others");
	wait_accounts_charge(&a, USER + 1, WAIT_FILE, 8 * NS_PER_S);
	wait_accounts_charge(&a, USER + 2, WAIT_FILE, 3 * NS_PER_S);
	ok(may_ask(&a, USER + 1, NS_PER_S),
	   "accounts: over the common limit, a user above the equal share has a short deadline");
	ok(may_ask(&a, USER + 2, 5 * NS_PER_S) && may_ask(&a, USER + 3, 5 * NS_PER_S),
	   "accounts: over the common limit, others keep their deadline");
	ok(may_ask(&a, PAYER_ROOT, 5 * NS_PER_S),
	   "accounts: root's deadline is not shortened by others");
	wait_accounts_charge(&a, PAYER_ROOT, WAIT_FILE, 30 * NS_PER_S);
	ok(may_ask(&a, PAYER_ROOT, NS_PER_S),
	   "accounts: slow root has a short deadline, but is never refused");
	a.last_ns -= 1200 * NS_PER_S;
	ok(may_ask(&a, USER, 5 * NS_PER_S),
	   "accounts: everything is credited back after twenty minutes");
	ok(wait_accounts_total_ns(&a) == 52 * NS_PER_S, "accounts: the total is known");
	wait_accounts_done(&a);
}

static void test_accounts_of_text(void)
{
	struct reader_wait wait = { 0 };
	struct wait_accounts a;

	wait_accounts_init(&a, &few);
	wait_accounts_charge(&a, USER, WAIT_FILE, 100 * NS_PER_S);
	ok(wait_accounts_ask(&a, USER, WAIT_TEXT, &wait) == 0 && wait.deadline_ns == NS_PER_S,
	   "accounts: a used-up account still allows text, with a short deadline");
	ok(wait_accounts_ask(&a, USER, WAIT_FILE, &wait) == -EDQUOT,
	   "accounts: a used-up account allows no files");
	wait_accounts_charge(&a, USER, WAIT_TEXT, 11 * NS_PER_S);
	ok(wait_accounts_ask(&a, USER, WAIT_TEXT, &wait) < 0, "accounts: slow text ends that, too");
	wait_accounts_done(&a);
}

static void test_accounts_are_not_flushed(void)
{
	struct wait_accounts a;

	wait_accounts_init(&a, &few);
	a.limits.all_ns = 10000 * NS_PER_S;
	for (uint64_t i = 0; i < 1000; i++)
		wait_accounts_charge(&a, USER + i, WAIT_FILE, 11 * NS_PER_S);
	ok(!may_ask(&a, USER, 5 * NS_PER_S) && !may_ask(&a, USER + 999, 5 * NS_PER_S),
	   "accounts: a thousand users do not flush the first one's account");
	ok(may_ask(&a, PAYER_ROOT, 5 * NS_PER_S) && may_ask(&a, PAYER_OWN_ROOT, 5 * NS_PER_S),
	   "accounts: a thousand users do not take root's account");
	wait_accounts_done(&a);
}

static bool is_asked(const void *ctx)
{
	return *(const bool *)ctx;
}

static void test_accounts_in_a_hurry(void)
{
	struct wait_accounts a;
	bool hurries = false;

	wait_accounts_init(&a, &few);
	a.hurry = (struct cancel){ is_asked, &hurries };
	wait_accounts_charge(&a, USER, WAIT_FILE, 3 * NS_PER_S);
	hurries = true;
	ok(!may_ask(&a, USER, NS_PER_S) && may_ask(&a, USER + 1, NS_PER_S),
	   "accounts: after a request to stop, slow users are not asked");
	wait_accounts_charge(&a, PAYER_ROOT, WAIT_FILE, 3 * NS_PER_S);
	ok(!may_ask(&a, PAYER_ROOT, NS_PER_S), "accounts: in the end no one is asked");
	wait_accounts_done(&a);
}

int main(void)
{
	test_accounts();
	test_accounts_of_text();
	test_accounts_are_not_flushed();
	test_accounts_in_a_hurry();
	return tap_done();
}
