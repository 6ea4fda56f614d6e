/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/known_code.h"

#include <stdlib.h>

#include "base/array.h"
#include "unwind/eh_frame.h"
#include "unwind/known_code_internal.h"

void known_code_done(struct known_code *k)
{
	free(k->ranges);
	*k = (struct known_code){ 0 };
}

int known_code_add(struct known_code *k, uint64_t start, uint64_t end, pa_rule rule)
{
	int r = ARRAY_RESERVE(k->ranges, k->cap, (size_t)k->nr + 1, KNOWN_CODE_MAX_RANGES);

	if (r == 0)
		k->ranges[k->nr++] = (struct known_range){ start, end, rule };
	return r;
}

static int by_start(const void *a, const void *b)
{
	const struct known_range *x = a, *y = b;

	return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
				    : (x->end > y->end) - (x->end < y->end);
}

/* Overlapping ranges end where the next one begins; ranges that are then empty, wrap around, or
 * cannot be covered by a table are dropped. */
static void make_apart(struct known_code *k)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < k->nr; i++) {
		struct known_range r = k->ranges[i];

		if (i + 1 < k->nr && k->ranges[i + 1].start < r.end)
			r.end = k->ranges[i + 1].start;
		if (r.start < r.end && r.end - k->ranges[0].start <= CFI_MAX_SPAN_BYTES)
			k->ranges[nr++] = r;
	}
	k->nr = nr;
}

int known_code_find(const struct elf_image *img, struct known_code *ret_known)
{
	struct known_code k = { 0 };
	int r = signal_code_find(img, &k);

	if (r == 0)
		r = go_code_find(img, &k);
	if (r == 0)
		r = plt_code_find(img, &k);
	if (r < 0) {
		known_code_done(&k);
		return r;
	}
	if (k.nr)
		qsort(k.ranges, k.nr, sizeof(k.ranges[0]), by_start);
	make_apart(&k);
	*ret_known = k;
	return 0;
}
