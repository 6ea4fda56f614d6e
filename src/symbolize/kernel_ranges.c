/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/kernel_ranges.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

#define MAX_RANGES (1u << 16)
#define MAX_NAME_BYTES (16u << 20)

void kernel_ranges_init(struct kernel_ranges *k)
{
	*k = (struct kernel_ranges){ .names = BUF_INIT(MAX_NAME_BYTES) };
}

void kernel_ranges_done(struct kernel_ranges *k)
{
	free(k->ranges);
	buf_done(&k->names);
	kernel_ranges_init(k);
}

/* The first that ends after addr. */
static uint32_t first_after(const struct kernel_ranges *k, uint64_t addr)
{
	uint32_t low = 0, high = k->nr;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (k->ranges[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Puts `new` in the place of those from `at` up to `to`. */
static void replace(struct kernel_ranges *k, uint32_t at, uint32_t to,
		    const struct kernel_range *new)
{
	memmove(k->ranges + at + 1, k->ranges + to, (k->nr - to) * sizeof(*k->ranges));
	k->nr = k->nr - (to - at) + 1;
	k->ranges[at] = *new;
}

int kernel_ranges_add(struct kernel_ranges *k, uint64_t start, uint64_t size_bytes,
		      const char *name)
{
	struct kernel_range new = { start, start + size_bytes, (uint32_t)k->names.len };
	uint32_t at, to;
	int r;

	if (new.end <= start || !*name)
		return -EINVAL;
	r = ARRAY_RESERVE(k->ranges, k->cap, (size_t)k->nr + 1, MAX_RANGES);
	if (r == 0)
		r = buf_append(&k->names, name, strlen(name) + 1);
	if (r < 0)
		return r;
	at = to = first_after(k, start);
	while (to < k->nr && k->ranges[to].start < new.end)
		to++;
	replace(k, at, to, &new);
	return 0;
}

const char *kernel_ranges_find(const struct kernel_ranges *k, uint64_t addr)
{
	uint32_t at = first_after(k, addr);

	if (at == k->nr || k->ranges[at].start > addr)
		return NULL;
	return k->names.data + k->ranges[at].name;
}
