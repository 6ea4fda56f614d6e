/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures CPU time spent on lines, if that is limited, separately from symbols, so that a file's
 * debug information does not reduce the time for its symbols, which are read before or after.
 */
#ifndef SYMBOLIZE_LINES_CLOCK_H
#define SYMBOLIZE_LINES_CLOCK_H

#include "elf/elf_image.h"
#include "symbolize/symbolizer_elf.h"

#define LINES_CLOCK_IMAGES 3

struct lines_clock {
	const struct elf_image *images[LINES_CLOCK_IMAGES]; /* borrowed; NULL: none */
	struct elf_image_pause pauses[LINES_CLOCK_IMAGES];
	uint64_t left_ns, began_ns;
	uint64_t *used_ns; /* borrowed; NULL: not wanted */
	bool is_limited;
};

void lines_clock_init(struct lines_clock *c, const struct elf_sources *src);

/* To be called around each piece of work for lines. No effect without a limit. */
void lines_clock_start(struct lines_clock *c);
void lines_clock_stop(struct lines_clock *c);

#endif
