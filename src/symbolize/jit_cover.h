/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds which of many ranges, added one after another, covers each of a few addresses: the last one
 * added so far, or the first. Memory grows with the addresses, not with the ranges; a range costs
 * the logarithm of their number, however much it covers.
 */
#ifndef SYMBOLIZE_JIT_COVER_H
#define SYMBOLIZE_JIT_COVER_H

#include <stdint.h>

struct jit_cover {
	const uint64_t *addrs; /* borrowed; sorted */
	uint32_t nr;
	uint64_t *last;  /* owned: by node of a tree over addrs, whose leaves are nr … 2 nr - 1 */
	uint64_t *first; /* owned */
};

/* -ENOMEM. jit_cover_done() may follow a failure. */
int jit_cover_init(struct jit_cover *c, const uint64_t *addrs, uint32_t nr);
void jit_cover_done(struct jit_cover *c);

/* Adds the range [start, end) with a number that is higher than all before, and not 0. */
void jit_cover_put(struct jit_cover *c, uint64_t start, uint64_t end, uint64_t number);

/* The number of the range that was added last, or first, and covers address i; 0 if none does. */
uint64_t jit_cover_last(const struct jit_cover *c, uint32_t i);
uint64_t jit_cover_first(const struct jit_cover *c, uint32_t i);

#endif
