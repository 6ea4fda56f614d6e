/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "tap.h"

struct item {
	int key, sum;
};

static int by_key(const void *a, const void *b)
{
	return ((const struct item *)a)->key - ((const struct item *)b)->key;
}

static void add_item(void *to, const void *more)
{
	((struct item *)to)->sum += ((const struct item *)more)->sum;
}

static uint32_t merge(struct item *items, uint32_t nr)
{
	return array_merge(items, nr, sizeof(*items), by_key, add_item);
}

static bool is_item(const struct item *i, int key, int sum)
{
	return i->key == key && i->sum == sum;
}

static void test_merge(void)
{
	struct item mixed[] = { { 3, 1 }, { 1, 2 }, { 3, 4 }, { 2, 8 }, { 1, 16 }, { 3, 32 } };
	struct item distinct[] = { { 2, 1 }, { 1, 2 } };
	struct item equal[] = { { 5, 1 }, { 5, 2 }, { 5, 4 } };

	ok(merge(mixed, 6) == 3 && is_item(&mixed[0], 1, 18) && is_item(&mixed[1], 2, 8) &&
		   is_item(&mixed[2], 3, 37),
	   "merge: equal items are added up, and the rest is sorted");
	ok(merge(distinct, 2) == 2 && is_item(&distinct[0], 1, 2) && is_item(&distinct[1], 2, 1),
	   "merge: distinct items stay");
	ok(merge(equal, 3) == 1 && is_item(&equal[0], 5, 7), "merge: equal items become one");
	ok(merge(equal, 1) == 1 && is_item(&equal[0], 5, 7), "merge: a single item stays");
	ok(merge(NULL, 0) == 0, "merge: an empty array stays empty");
}

static void test_reserve(void)
{
	uint32_t cap = 0;
	int *items = NULL;

	ok(ARRAY_RESERVE(items, cap, 5, 40) == 0 && items && cap >= 5,
	   "reserve: an empty array grows");
	ok(ARRAY_RESERVE(items, cap, 33, 40) == 0 && cap == 40,
	   "reserve: growth stops at the maximum");
	ok(ARRAY_RESERVE(items, cap, 41, 40) == -E2BIG && cap == 40,
	   "reserve: beyond the maximum it fails and changes nothing");
	free(items);
}

int main(void)
{
	test_merge();
	test_reserve();
	return tap_done();
}
