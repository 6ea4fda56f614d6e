/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/stack_budget.h"

#include "base/clock.h"

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void stack_budget_init(struct stack_budget *b, int64_t per_s, int64_t per_turn, uint64_t now_ns)
{
	*b = (struct stack_budget){ .per_s = per_s,
				    .per_turn = per_turn,
				    .saved = per_s * STACK_BUDGET_SAVED_S,
				    .time_ns = now_ns };
}

int64_t stack_budget_next(struct stack_budget *b, int64_t left, uint64_t now_ns)
{
	uint64_t most_ns = STACK_BUDGET_SAVED_S * NS_PER_S, ns = now_ns - b->time_ns;
	int64_t more;

	if (ns > most_ns)
		ns = most_ns;
	b->time_ns = now_ns;
	b->saved += (int64_t)((uint64_t)b->per_s * ns / NS_PER_S) - (b->given - left);
	b->saved = smaller(b->saved, b->per_s * STACK_BUDGET_SAVED_S);
	more = smaller(b->saved, b->per_turn) - left;
	b->given = left + more;
	return more;
}
