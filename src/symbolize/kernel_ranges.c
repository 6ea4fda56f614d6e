/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/kernel_ranges.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/bisect.h"

#define MAX_RANGES (1u << 16)
#define MAX_NAME_BYTES (16u << 20)
#define NO_NAME UINT32_MAX

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

int kernel_ranges_copy(struct kernel_ranges *to, const struct kernel_ranges *from)
{
	int r = ARRAY_RESERVE(to->ranges, to->cap, from->nr, MAX_RANGES);

	if (r == 0 && from->nr)
		r = buf_append(&to->names, from->names.data, from->names.len);
	if (r < 0 || !from->nr)
		return r;
	memcpy(to->ranges, from->ranges, from->nr * sizeof(*to->ranges));
	to->nr = from->nr;
	return 0;
}

/* Index of the first range that ends after addr. */
static uint32_t first_after(const struct kernel_ranges *k, uint64_t addr)
{
	return BISECT(i, k->nr, k->ranges[i].end <= addr);
}

/* Inserts a range; there must be room. */
static void insert(struct kernel_ranges *k, uint32_t at, const struct kernel_range *new)
{
	memmove(k->ranges + at + 1, k->ranges + at, (k->nr - at) * sizeof(*k->ranges));
	k->ranges[at] = *new;
	k->nr++;
}

/* Splits a range that extends over addr; there must be room. */
static void split_range(struct kernel_ranges *k, uint64_t addr)
{
	uint32_t at = first_after(k, addr);
	struct kernel_range low;

	if (at == k->nr || k->ranges[at].start >= addr)
		return;
	low = k->ranges[at];
	low.end = addr;
	k->ranges[at].start = addr;
	insert(k, at, &low);
}

static bool has_name(const struct kernel_ranges *k, const struct kernel_range *range,
		     const char *name)
{
	return range->name != NO_NAME && strcmp(k->names.data + range->name, name) == 0;
}

/* Ranges within `new` keep their name only if it is the same; new ranges fill the gaps. */
static void cover(struct kernel_ranges *k, const struct kernel_range *new)
{
	uint64_t from = new->start;

	for (uint32_t i = first_after(k, from); from < new->end; i++) {
		struct kernel_range gap = { from, new->end, new->name };

		if (i < k->nr && k->ranges[i].start < gap.end)
			gap.end = k->ranges[i].start;
		if (gap.end > from)
			insert(k, i, &gap);
		else if (!has_name(k, &k->ranges[i], k->names.data + new->name))
			k->ranges[i].name = NO_NAME;
		from = k->ranges[i].end;
	}
}

/* Stores a name; a range that is reported again when it is unloaded takes no more memory. */
static int keep_name(struct kernel_ranges *k, uint64_t start, const char *name, uint32_t *ret_name)
{
	uint32_t at = first_after(k, start);

	if (at < k->nr && has_name(k, &k->ranges[at], name)) {
		*ret_name = k->ranges[at].name;
		return 0;
	}
	*ret_name = (uint32_t)k->names.len;
	return buf_append(&k->names, name, strlen(name) + 1);
}

int kernel_ranges_add(struct kernel_ranges *k, uint64_t start, uint64_t size_bytes,
		      const char *name)
{
	struct kernel_range new = { start, start + size_bytes, NO_NAME };
	uint32_t at = first_after(k, start), to = at;
	int r;

	if (new.end <= start || !*name)
		return -EINVAL;
	while (to < k->nr && k->ranges[to].start < new.end)
		to++;
	/* Room for a new range before, between and after each, and for two that are split. */
	r = ARRAY_RESERVE(k->ranges, k->cap, (size_t)k->nr + (to - at) + 3, MAX_RANGES);
	if (r == 0)
		r = keep_name(k, start, name, &new.name);
	if (r < 0) {
		for (; at < to; at++)
			k->ranges[at].name = NO_NAME;
		return r;
	}
	split_range(k, new.start);
	split_range(k, new.end);
	cover(k, &new);
	return 0;
}

bool kernel_ranges_find(const struct kernel_ranges *k, uint64_t addr, const char **ret_name)
{
	uint32_t at = first_after(k, addr);

	if (at == k->nr || k->ranges[at].start > addr)
		return false;
	*ret_name = k->ranges[at].name == NO_NAME ? NULL : k->names.data + k->ranges[at].name;
	return true;
}
