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

/* How far it has come, so that one can go back there. */
struct row_mark {
	uint32_t nr; /* rows */
	uint32_t nr_pages;
	uint64_t page_end; /* of the page that was begun last */
	uint64_t fast_end; /* rows below it need no look at pages, nor at what is known */
	uint32_t next_known;
	uint16_t said;  /* the rule that was given last */
	bool is_inside; /* of known[next_known] */
};

struct row_builder {
	struct row_mark at;
	struct pa_row *rows; /* owned */
	uint32_t cap;
	uint32_t cap_pages;
	uint32_t *page_first;           /* owned; first row of each page since the base's */
	uint64_t base;                  /* link-time address, a multiple of the block size */
	const struct known_rule *known; /* borrowed; by address, apart from each other */
	uint32_t nr_known;
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
	if (rule == b->at.said)
		return 0;
	if (b->at.nr == b->cap || addr >= b->at.fast_end)
		return row_builder_add_slowly(b, addr, rule);
	b->rows[b->at.nr++] = (struct pa_row){ .pc = (uint16_t)addr, .rule = rule };
	b->at.said = rule;
	return 0;
}

/* Takes back everything added since the mark, a copy of b->at. */
static inline void row_builder_rewind(struct row_builder *b, const struct row_mark *mark)
{
	b->at = *mark;
}

/* Adds what is known behind the last row, moves the rows into t, and makes the directory. -E2BIG,
 * -ENOMEM. */
int row_builder_finish(struct row_builder *b, struct unwind_table *t);

#endif
