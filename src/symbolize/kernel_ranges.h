/* SPDX-License-Identifier: Apache-2.0 */
/* Code that the kernel told of when it made it or took it away, as BPF programs: with its size and
 * its name. */
#ifndef SYMBOLIZE_KERNEL_RANGES_H
#define SYMBOLIZE_KERNEL_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct kernel_range {
	uint64_t start, end;
	uint32_t name; /* offset in names; UINT32_MAX: several, in turn */
};

struct kernel_ranges {
	struct kernel_range *ranges; /* owned; sorted, none overlaps another */
	uint32_t nr, cap;
	struct buf names; /* owned: strings with their NULs */
};

void kernel_ranges_init(struct kernel_ranges *k);
void kernel_ranges_done(struct kernel_ranges *k);

/* Where code of another name lay before, it is not known from now on which of the two is meant; nor
 * where this one finds no room. -ENOMEM; -E2BIG past the limit; -EINVAL: no range. */
int kernel_ranges_add(struct kernel_ranges *k, uint64_t start, uint64_t size_bytes,
		      const char *name);

/* Whether there was code, and its name, borrowed until the next addition; NULL: it had several. */
bool kernel_ranges_find(const struct kernel_ranges *k, uint64_t addr, const char **ret_name);

#endif
