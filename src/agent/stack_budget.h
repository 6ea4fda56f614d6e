/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many bytes of stacks the kernel may copy until the next turn, for walks that are finished in
 * user space. Turns come when they must, sometimes 2 ms apart: a turn alone bounds what the ring has
 * to hold, and time what all of it costs.
 */
#ifndef AGENT_STACK_BUDGET_H
#define AGENT_STACK_BUDGET_H

#include <stdint.h>

#define STACK_BUDGET_SAVED_S 2 /* what was not used for that long can be used at once */

struct stack_budget {
	int64_t per_s, per_turn;
	int64_t saved; /* may be used by and by; below 0: too much was */
	int64_t given; /* what the kernel had left when it was told last */
	uint64_t time_ns;
};

void stack_budget_init(struct stack_budget *b, int64_t per_s, int64_t per_turn, uint64_t now_ns);

/* left: of what the kernel was told. Returns what it may have more, or (below 0) less. */
int64_t stack_budget_next(struct stack_budget *b, int64_t left, uint64_t now_ns);

#endif
