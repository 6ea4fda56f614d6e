/* SPDX-License-Identifier: Apache-2.0 */
/* Code that the kernel reported when it was loaded or unloaded, such as BPF programs, with its size
 * and name. */
#ifndef SYMBOLIZE_KERNEL_RANGES_H
#define SYMBOLIZE_KERNEL_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct kernel_range {
	uint64_t start, end;
	uint32_t name; /* offset in names; UINT32_MAX: several names, one after another */
};

struct kernel_ranges {
	struct kernel_range *ranges; /* owned; sorted, none overlaps another */
	uint32_t nr, cap;
	struct buf names; /* owned: strings with their NULs */
};

void kernel_ranges_init(struct kernel_ranges *k);
void kernel_ranges_done(struct kernel_ranges *k);

/* Adds a range. Code with another name at the same place becomes ambiguous, even if there is no
 * room for this range. -ENOMEM; -E2BIG beyond the limit; -EINVAL: not a range. */
int kernel_ranges_add(struct kernel_ranges *k, uint64_t start, uint64_t size_bytes,
		      const char *name);

/* *to is initialized. -ENOMEM; *to is empty then. */
int kernel_ranges_copy(struct kernel_ranges *to, const struct kernel_ranges *from);

/* True if there was code; *ret_name is borrowed until the next addition; NULL: there were several
 * names. */
bool kernel_ranges_find(const struct kernel_ranges *k, uint64_t addr, const char **ret_name);

#endif
