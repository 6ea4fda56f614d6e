/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code whose unwind rule is known independently of CFI, which is missing or wrong there: the
 * instructions by which a signal handler returns, Go's functions, and PLT stubs on AArch64.
 */
#ifndef UNWIND_KNOWN_CODE_H
#define UNWIND_KNOWN_CODE_H

#include <stdint.h>

#include "bpf/rows.h"

struct elf_image;

#define KNOWN_CODE_MAX_RANGES (4u << 20)
#define KNOWN_CODE_MAX_SCAN_BYTES (256ull << 20) /* of code; the largest programs have 100 MiB */

struct known_range {
	uint64_t start, end; /* link-time */
	pa_rule rule;
};

struct known_code {
	struct known_range *ranges; /* owned; by address, disjoint */
	uint32_t nr, cap;
};

/* Everything known about an image; free with known_code_done(). Unreadable parts are left out.
 * -E2BIG, -ENOMEM. */
int known_code_find(const struct elf_image *img, struct known_code *ret_known);
void known_code_done(struct known_code *k);

#endif
