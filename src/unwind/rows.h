/* SPDX-License-Identifier: Apache-2.0 */
/* Rows under construction: rules come in by rising address, pages and directory are made of them. */
#ifndef UNWIND_ROWS_H
#define UNWIND_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/rows.h"

struct unwind_table;

/* Code whose rule is known whatever the file says of it. */
struct known_rule {
	uint64_t start, end; /* link-time */
	uint16_t rule;
};

struct row_builder {
	struct pa_row *rows; /* owned */
	uint32_t nr, cap;
	uint32_t *page_first; /* owned; first row of each page since the base's */
	uint32_t nr_pages, cap_pages;
	uint64_t base;     /* link-time address, a multiple of the block size */
	uint64_t page_end; /* of the page that was begun last */
	uint64_t fast_end; /* rows below it need no look at pages, nor at what is known */
	uint16_t said;     /* the rule that was given last */
	uint16_t rule;     /* in force behind the last row */
	bool is_inside;    /* of known[next_known] */
	uint32_t nr_known, next_known;
	const struct known_rule *known; /* borrowed; by address, apart from each other */
};

/* addr: nothing below it will come, neither by row_builder_add() nor in what is known. */
void row_builder_init(struct row_builder *b, uint64_t addr, const struct known_rule *known,
		      uint32_t nr_known);
void row_builder_done(struct row_builder *b);

/* row_builder_add() where a page begins, something is known, or the rows must grow. */
int row_builder_add_slowly(struct row_builder *b, uint64_t addr, uint16_t rule);

/* From addr on, the rule holds. addr is above that of every rule before. -E2BIG, -ENOMEM. */
static inline int row_builder_add(struct row_builder *b, uint64_t addr, uint16_t rule)
{
	if (rule == b->said)
		return 0;
	if (b->nr == b->cap || addr >= b->fast_end)
		return row_builder_add_slowly(b, addr, rule);
	b->rows[b->nr++] = (struct pa_row){ .pc = (uint16_t)addr, .rule = rule };
	b->said = rule;
	b->rule = rule;
	return 0;
}

/* Taking back: everything added since the mark. */
struct row_mark {
	uint32_t nr, nr_pages, next_known;
	uint64_t page_end, fast_end;
	uint16_t said, rule;
	bool is_inside;
};
struct row_mark row_builder_mark(const struct row_builder *b);
void row_builder_rewind(struct row_builder *b, const struct row_mark *mark);

/* Adds what is known behind the last row, moves the rows into t, and makes the directory. -E2BIG,
 * -ENOMEM. */
int row_builder_finish(struct row_builder *b, struct unwind_table *t);

#endif
