/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stddef.h>

#include "base/bisect.h"
#include "tap.h"

#define MAX_ITEMS 130u

static void test_every_place(void)
{
	uint32_t nr_wrong = 0;

	for (uint32_t nr = 0; nr <= MAX_ITEMS; nr++)
		for (uint32_t place = 0; place <= nr; place++)
			nr_wrong += BISECT(i, nr, i < place) != place;
	ok(nr_wrong == 0, "bisect: every position among 0 to %u items is found (%u are not)",
	   MAX_ITEMS, nr_wrong);
}

static void test_equal_items(void)
{
	static const uint16_t items[] = { 1, 3, 3, 3, 7 };

	ok(BISECT(i, 5u, items[i] < 3) == 1, "bisect: '<' gives the first of equal items");
	ok(BISECT(i, 5u, items[i] <= 3) == 4, "bisect: '<=' gives the item after equal ones");
	ok(BISECT(i, 5u, items[i] < 8) == 5, "bisect: a key after all items gives their number");
}

static void test_large_numbers(void)
{
	uint32_t nr = UINT32_MAX;
	size_t large_nr = SIZE_MAX;

	ok(BISECT(i, nr, i < nr - 1) == nr - 1, "bisect: 32-bit indices do not overflow");
	ok(BISECT(i, large_nr, i < large_nr - 1) == large_nr - 1,
	   "bisect: indices have the width of the number of items");
}

struct probes {
	uint32_t nr;
	bool is_outside;
};

/* As for items in no order at all. */
static bool is_before(struct probes *p, uint32_t i, uint32_t nr, uint32_t seed)
{
	p->nr++;
	p->is_outside |= i >= nr;
	return (i * 2654435761u ^ seed) & 4;
}

static void test_unsorted_items(void)
{
	struct probes most = { 0 };
	bool is_outside = false;

	for (uint32_t seed = 0; seed < 64; seed++) {
		struct probes p = { 0 };
		uint32_t at = BISECT(i, MAX_ITEMS, is_before(&p, i, MAX_ITEMS, seed));

		is_outside |= p.is_outside || at > MAX_ITEMS;
		if (p.nr > most.nr)
			most = p;
	}
	ok(!is_outside, "bisect: unsorted items never lead to an index out of range");
	ok(most.nr <= 8, "bisect: unsorted items are examined at most 8 times (%u)", most.nr);
}

int main(void)
{
	test_every_place();
	test_equal_items();
	test_large_numbers();
	test_unsorted_items();
	return tap_done();
}
