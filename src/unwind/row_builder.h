/* SPDX-License-Identifier: Apache-2.0 */
/* Builds rows: takes rules in ascending address order and produces pages and the directory. */
#ifndef UNWIND_ROW_BUILDER_H
#define UNWIND_ROW_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/rows.h"

struct unwind_table;

/* Code with a known rule, which overrides the file's. */
struct known_rule {
	uint64_t start, end; /* link-time */
	uint16_t rule;
};

/* The progress so far, so that the builder can be rolled back to it. */
struct row_mark {
	uint32_t nr; /* rows */
	uint32_t nr_pages;
	uint64_t page_end; /* of the page begun last */
	uint64_t fast_end; /* rows below it need no check for pages or known ranges */
	uint32_t next_known;
	uint16_t said;  /* the rule added last */
	bool is_inside; /* inside known[next_known] */
};

struct row_builder {
	struct row_mark at;
	struct pa_row *rows; /* owned */
	uint32_t cap;
	uint32_t cap_pages;
	uint32_t *page_first;           /* owned; first row of each page, counted from the base */
	uint64_t base;                  /* link-time address, a multiple of the block size */
	const struct known_rule *known; /* borrowed; by address, disjoint */
	uint32_t nr_known;
};

/* addr: the lowest address that will be added, either by row_builder_add() or from known ranges. */
void row_builder_init(struct row_builder *b, uint64_t addr, const struct known_rule *known,
		      uint32_t nr_known);
void row_builder_done(struct row_builder *b);

/* The slow path of row_builder_add(): a page begins, a range is known, or the array of rows must
 * grow. */
int row_builder_add_slowly(struct row_builder *b, uint64_t addr, uint16_t rule);

/* Adds a rule that applies from addr on. addr is above that of every previous rule. -E2BIG,
 * -ENOMEM. */
static inline int row_builder_add(struct row_builder *b, uint64_t addr, uint16_t rule)
{
	if (rule == b->at.said)
		return 0;
	if (b->at.nr == b->cap || addr >= b->at.fast_end)
		return row_builder_add_slowly(b, addr, rule);
	b->rows[b->at.nr++] = (struct pa_row){ .pc = (uint16_t)addr, .rule = rule };
	b->at.said = rule;
	return 0;
}

/* Removes everything added since the mark, a copy of b->at. */
static inline void row_builder_rewind(struct row_builder *b, const struct row_mark *mark)
{
	b->at = *mark;
}

/* Adds the known ranges after the last row, moves the rows into t, and builds the directory.
 * -E2BIG, -ENOMEM. */
int row_builder_finish(struct row_builder *b, struct unwind_table *t);

#endif
