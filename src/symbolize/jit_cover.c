/* SPDX-License-Identifier: Apache-2.0 */
/* A segment tree in an array: node i has the children 2 i and 2 i + 1. A range is written to the
 * few nodes that make it up; a lookup reads all nodes above an address. */
#include "symbolize/jit_cover.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bisect.h"

int jit_cover_init(struct jit_cover *c, const uint64_t *addrs, uint32_t nr)
{
	*c = (struct jit_cover){ .addrs = addrs, .nr = nr };
	c->last = calloc((size_t)nr * 2 + 1, sizeof(*c->last));
	c->first = calloc((size_t)nr * 2 + 1, sizeof(*c->first));
	return c->last && c->first ? 0 : -ENOMEM;
}

void jit_cover_done(struct jit_cover *c)
{
	free(c->last);
	free(c->first);
}

/* The first address that is not below addr. */
static uint32_t lower_bound(const struct jit_cover *c, uint64_t addr)
{
	return BISECT(i, c->nr, c->addrs[i] < addr);
}

static void put_node(struct jit_cover *c, size_t node, uint64_t number)
{
	c->last[node] = number;
	if (!c->first[node])
		c->first[node] = number;
}

void jit_cover_put(struct jit_cover *c, uint64_t start, uint64_t end, uint64_t number)
{
	uint32_t begin = lower_bound(c, start);
	size_t low, high;

	if (begin == c->nr || c->addrs[begin] >= end)
		return; /* true for most ranges */
	low = (size_t)begin + c->nr;
	high = (size_t)lower_bound(c, end) + c->nr;
	for (; low < high; low /= 2, high /= 2) {
		if (low % 2)
			put_node(c, low++, number);
		if (high % 2)
			put_node(c, --high, number);
	}
}

uint64_t jit_cover_last(const struct jit_cover *c, uint32_t i)
{
	uint64_t number = 0;

	for (size_t node = (size_t)i + c->nr; node; node /= 2)
		if (c->last[node] > number)
			number = c->last[node];
	return number;
}

uint64_t jit_cover_first(const struct jit_cover *c, uint32_t i)
{
	uint64_t number = 0;

	for (size_t node = (size_t)i + c->nr; node; node /= 2)
		if (c->first[node] && (!number || c->first[node] < number))
			number = c->first[node];
	return number;
}
