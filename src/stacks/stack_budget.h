/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines how many bytes of stacks the kernel may copy until the next turn, for walks that are
 * finished in user space. Turns are irregular, sometimes 2 ms apart: the limit per turn bounds what
 * the ring has to hold, the rate bounds the total cost.
 */
#ifndef STACKS_STACK_BUDGET_H
#define STACKS_STACK_BUDGET_H

#include <stdint.h>

#define STACK_BUDGET_SAVED_S 2 /* an unused budget of that long can be used at once */

struct stack_budget {
	int64_t per_s, per_turn;
	int64_t saved; /* budget available later; negative: overdrawn */
	int64_t given; /* what the kernel had left at the last update */
	uint64_t time_ns;
};

void stack_budget_init(struct stack_budget *b, int64_t per_s, int64_t per_turn, uint64_t now_ns);

/* left: what the kernel has left. Returns how much to add to that, or to subtract if negative. */
int64_t stack_budget_next(struct stack_budget *b, int64_t left, uint64_t now_ns);

#endif
