/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that is known by other means than call frame information, which is not there or wrong: the few
 * instructions by which a signal handler returns to what it interrupted, Go's functions, and the
 * stubs of calls between files on AArch64.
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
	struct known_range *ranges; /* owned; by address, apart from each other */
	uint32_t nr, cap;
};

/* All that is known of an image, for known_code_done(). What cannot be read is left out. -E2BIG,
 * -ENOMEM. */
int known_code_find(const struct elf_image *img, struct known_code *ret_known);
void known_code_done(struct known_code *k);

#endif
