/* SPDX-License-Identifier: Apache-2.0 */
/* Which signals are requests of their own, and which are copies of one. */
#include "cli/signals.h"
#include "tap.h"

#define MS 1000000ull
#define TERMINAL 0 /* the kernel sends what is typed */
#define TIMEOUT 700
#define SUDO 800

static void test_copies(void)
{
	struct signals s = { .fd = -1 };

	ok(!signals_is_copy(&s, SIGTERM, TIMEOUT, 0), "the first signal is a request");
	ok(signals_is_copy(&s, SIGTERM, SUDO, 300 * MS), "what sudo passes on is a copy");
	ok(signals_is_copy(&s, SIGTERM, SUDO, 600 * MS),
	   "what sudo passes on a second time is a copy");
	ok(!signals_is_copy(&s, SIGTERM, SUDO, 1500 * MS),
	   "what comes after a second is a request");
	ok(signals_is_copy(&s, SIGTERM, TIMEOUT, 1501 * MS), "the second request has copies, too");
}

static void test_copies_in_another_order(void)
{
	struct signals s = { .fd = -1 };

	ok(!signals_is_copy(&s, SIGTERM, SUDO, 0) && signals_is_copy(&s, SIGTERM, TIMEOUT, MS) &&
		   signals_is_copy(&s, SIGTERM, SUDO, 2 * MS),
	   "sudo may be faster than the group");
	s = (struct signals){ .fd = -1 };
	ok(!signals_is_copy(&s, SIGTERM, SUDO, 0) && signals_is_copy(&s, SIGTERM, SUDO, MS),
	   "all of them may come through sudo");
}

static void test_requests(void)
{
	struct signals s = { .fd = -1 };

	ok(!signals_is_copy(&s, SIGINT, TERMINAL, 0) && !signals_is_copy(&s, SIGINT, TERMINAL, MS),
	   "Ctrl-C twice is two requests, however fast");
	s = (struct signals){ .fd = -1 };
	ok(!signals_is_copy(&s, SIGINT, SUDO, 0) && !signals_is_copy(&s, SIGINT, TERMINAL, MS),
	   "Ctrl-C after a signal of a process is a request");
	ok(!signals_is_copy(&s, SIGTERM, TIMEOUT, 2 * MS), "another signal is another request");
	ok(!signals_is_copy(&s, SIGTERM, TIMEOUT, 200 * MS), "a process may repeat its request");
}

int main(void)
{
	test_copies();
	test_copies_in_another_order();
	test_requests();
	return tap_done();
}
