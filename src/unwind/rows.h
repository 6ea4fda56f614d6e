/* SPDX-License-Identifier: Apache-2.0 */
/* Rows under construction: rules come in by rising address, pages and directory are made of them. */
#ifndef UNWIND_ROWS_H
#define UNWIND_ROWS_H

#include <stdint.h>

#include "bpf/rows.h"

struct unwind_table;

struct row_builder {
	struct pa_row *rows; /* owned */
	uint32_t nr, cap;
	uint32_t *page_first; /* owned; first row of each page since the base's */
	uint32_t nr_pages, cap_pages;
	uint64_t base;     /* link-time address, a multiple of the block size */
	uint64_t page_end; /* of the page that was begun last */
	uint16_t rule;     /* in force behind it */
};

/* addr: nothing below it will come. */
void row_builder_init(struct row_builder *b, uint64_t addr);
void row_builder_done(struct row_builder *b);

/* row_builder_add() where a page begins, or the rows must grow. */
int row_builder_add_slowly(struct row_builder *b, uint64_t addr, uint16_t rule);

/* From addr on, the rule holds. addr is above that of every rule before. -E2BIG, -ENOMEM. */
static inline int row_builder_add(struct row_builder *b, uint64_t addr, uint16_t rule)
{
	if (rule == b->rule)
		return 0;
	if (b->nr == b->cap || addr >= b->page_end)
		return row_builder_add_slowly(b, addr, rule);
	b->rows[b->nr++] = (struct pa_row){ .pc = (uint16_t)addr, .rule = rule };
	b->rule = rule;
	return 0;
}

/* Taking back: everything added since the mark. */
struct row_mark {
	uint32_t nr, nr_pages;
	uint64_t page_end;
	uint16_t rule;
};
struct row_mark row_builder_mark(const struct row_builder *b);
void row_builder_rewind(struct row_builder *b, const struct row_mark *mark);

/* Moves the rows into t, and makes the directory. -ENOMEM. */
int row_builder_finish(struct row_builder *b, struct unwind_table *t);

#endif
