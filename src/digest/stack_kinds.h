/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of stacks: those of one command with the same outermost function, such as the stacks of its
 * main thread or of its workers. A function that is in nearly every stack of its kinds says little
 * about where time goes. Truncated stacks of a command are one kind, because they begin anywhere;
 * kinds with few samples prove nothing and are combined.
 */
#ifndef DIGEST_STACK_KINDS_H
#define DIGEST_STACK_KINDS_H

#include <stdint.h>

struct functions;

struct stack_kinds {
	uint32_t *of_sample; /* owned: the kind of each sample */
	uint32_t *samples;   /* owned: sample numbers, grouped by kind */
	int64_t *values;     /* owned: the sum of each kind */
	uint32_t nr;
};

int stack_kinds_init(struct stack_kinds *k, const struct functions *f);
void stack_kinds_done(struct stack_kinds *k);

#endif
