/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/stack_budget.h"

#include "base/clock.h"
#include "tap.h"

#define PER_S 1000000
#define PER_TURN 100000

/* Turns for `seconds`, `ms` apart, of a kernel that uses all it may; how much that is. */
static int64_t use_all(struct stack_budget *b, uint64_t *now, unsigned int seconds, unsigned int ms)
{
	uint64_t end = *now + seconds * NS_PER_S;
	int64_t left = b->given, used = 0;

	for (; *now < end; *now += ms * NS_PER_MS) {
		left += stack_budget_next(b, left, *now);
		used += left > 0 ? left : 0;
		left = left > 0 ? 0 : left;
	}
	return used;
}

static void test_rate(unsigned int ms)
{
	struct stack_budget b;
	uint64_t now = 5 * NS_PER_S;
	int64_t used;

	stack_budget_init(&b, PER_S, PER_TURN, now);
	used = use_all(&b, &now, STACK_BUDGET_SAVED_S + 20, ms);
	ok(used <= (2 * STACK_BUDGET_SAVED_S + 20) * (int64_t)PER_S,
	   "turns every %u ms: not more than the rate allows", ms);
	used = use_all(&b, &now, 10, ms);
	ok(used > 9 * (int64_t)PER_S && used <= 10 * (int64_t)PER_S + PER_TURN,
	   "the rate is used up: %ld in 10 s", (long)used);
}

static void test_turn(void)
{
	struct stack_budget b;
	int64_t left = 0;

	stack_budget_init(&b, PER_S, PER_TURN, 0);
	left += stack_budget_next(&b, left, 0);
	ok(left == PER_TURN, "the first turn has its whole share");
	left += stack_budget_next(&b, left, NS_PER_S);
	ok(left == PER_TURN, "unused bytes do not accumulate in the kernel");
	left = -300;
	left += stack_budget_next(&b, left, NS_PER_S);
	ok(left == PER_TURN && b.saved == 2 * PER_S - PER_TURN - 300,
	   "an overdraft is deducted later");
	left += stack_budget_next(&b, left, 100 * NS_PER_S);
	ok(left == PER_TURN && b.saved == 2 * PER_S, "savings are limited");
}

int main(void)
{
	test_rate(2);
	test_rate(100);
	test_turn();
	return tap_done();
}
