/* SPDX-License-Identifier: Apache-2.0 */
/* The hottest functions of a profile: the number of samples by function, self and total. */
#ifndef DIGEST_TOP_H
#define DIGEST_TOP_H

#include <stdbool.h>
#include <stdint.h>

struct functions;

struct top_function {
	uint32_t function; /* see digest/functions.h */
	int64_t self;
	int64_t total; /* a function that occurs several times in a stack counts once */
	/* True if nearly every stack of its kind contains the function and its self is small: main, the
	 * start function of a thread. Never of a Python function: the interpreter runs it, so that its self is
	 * always small. */
	bool is_everywhere;
};

/* Every function with samples, sorted by self, then total, then name; the caller frees the array. */
int digest_top(const struct functions *f, struct top_function **ret_functions, uint32_t *ret_nr);

/* Sorts functions by total, then self, then name, and keeps the first max of those that are everywhere, and the
 * first max of the others; returns how many these are. */
uint32_t digest_top_by_total(const struct functions *f, struct top_function *functions, uint32_t nr,
			     uint32_t max);

#endif
