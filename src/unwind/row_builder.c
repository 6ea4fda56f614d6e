/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/row_builder.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/bisect.h"
#include "base/cleanup.h"
#include "unwind/eh_frame.h"
#include "unwind/table.h"

#define MAX_PAGES ((CFI_MAX_SPAN_BYTES >> PA_PAGE_SHIFT) + 2) /* and a partial page at either end */
#define BLOCKS_PER_PAGE (1u << (PA_PAGE_SHIFT - PA_BLOCK_SHIFT))

void row_builder_init(struct row_builder *b, uint64_t addr, const struct known_rule *known,
		      uint32_t nr_known)
{
	*b = (struct row_builder){ .base = addr & ~(uint64_t)(PA_BLOCK_SIZE - 1),
				   .at.said = PA_RULE_ID_NONE,
				   .known = known,
				   .nr_known = nr_known };
}

void row_builder_done(struct row_builder *b)
{
	free(b->rows);
	free(b->page_first);
	*b = (struct row_builder){ 0 };
}

static uint64_t page_of(const struct row_builder *b, uint64_t addr)
{
	return (addr >> PA_PAGE_SHIFT) - (b->base >> PA_PAGE_SHIFT);
}

/* The rule in force after the last row. */
static uint16_t rule_of(const struct row_builder *b)
{
	return b->at.nr ? b->rows[b->at.nr - 1].rule : PA_RULE_ID_NONE;
}

static int append_row(struct row_builder *b, uint16_t pc, uint16_t rule)
{
	int r = ARRAY_RESERVE(b->rows, b->cap, (size_t)b->at.nr + 1, UNWIND_MAX_ROWS);

	if (r < 0)
		return r;
	b->rows[b->at.nr++] = (struct pa_row){ .pc = pc, .rule = rule };
	return 0;
}

/* Begins a page. Its first row repeats the current rule, unless a row begins there anyway or the
 * whole page has no rule. */
static int begin_page(struct row_builder *b, bool has_own_first, bool is_empty)
{
	int r;

	r = ARRAY_RESERVE(b->page_first, b->cap_pages, (size_t)b->at.nr_pages + 1, MAX_PAGES);
	if (r < 0)
		return r;
	b->page_first[b->at.nr_pages++] = b->at.nr;
	if (has_own_first || (is_empty && rule_of(b) == PA_RULE_ID_NONE))
		return 0;
	return append_row(b, 0, rule_of(b));
}

static int begin_pages_to(struct row_builder *b, uint64_t addr)
{
	uint64_t page = page_of(b, addr);
	int r = 0;

	while (r == 0 && b->at.nr_pages <= page) {
		bool is_last = b->at.nr_pages == page;

		r = begin_page(b, is_last && (addr & 0xffff) == 0, !is_last);
	}
	return r;
}

/* Adds a row, unless its rule is already in force. */
static int add_row(struct row_builder *b, uint64_t addr, uint16_t rule)
{
	int r;

	if (rule == rule_of(b))
		return 0;
	r = begin_pages_to(b, addr);
	if (r < 0)
		return r;
	r = append_row(b, (uint16_t)addr, rule);
	if (r < 0)
		return r;
	b->at.page_end = (addr | 0xffff) + 1;
	return 0;
}

/* After a known range the file's rule applies again, unless a row or another known range begins
 * there. */
static int leave_known(struct row_builder *b, uint64_t next_addr)
{
	const struct known_rule *k = &b->known[b->at.next_known++];

	b->at.is_inside = false;
	if (k->end == next_addr || (b->at.next_known < b->nr_known && k[1].start == k->end))
		return 0;
	return add_row(b, k->end, b->at.said);
}

/* Adds the rows of all known ranges that begin at or below addr. */
static int add_known(struct row_builder *b, uint64_t addr)
{
	int r = 0;

	while (r == 0 && b->at.next_known < b->nr_known) {
		const struct known_rule *k = &b->known[b->at.next_known];

		if (k->start > addr)
			break;
		if (!b->at.is_inside)
			r = add_row(b, k->start, k->rule);
		b->at.is_inside = true;
		if (r < 0 || k->end > addr)
			break;
		r = leave_known(b, addr);
	}
	return r;
}

static void set_fast_end(struct row_builder *b)
{
	b->at.fast_end = b->at.page_end;
	if (b->at.is_inside)
		b->at.fast_end = 0;
	else if (b->at.next_known < b->nr_known &&
		 b->known[b->at.next_known].start < b->at.fast_end)
		b->at.fast_end = b->known[b->at.next_known].start;
}

int row_builder_add_slowly(struct row_builder *b, uint64_t addr, uint16_t rule)
{
	int r = add_known(b, addr);

	if (r == 0 && !b->at.is_inside)
		r = add_row(b, addr, rule);
	b->at.said = rule;
	set_fast_end(b);
	return r;
}

/* The first of rows[at..end) at `pc` or above. A block has some hundred rows. */
static uint32_t first_from(const struct row_builder *b, uint32_t at, uint32_t end, uint32_t pc)
{
	return at + BISECT(i, end - at, b->rows[at + i].pc < pc);
}

/* The blocks of one page, whose first row is at its first byte; a page may have no rows. */
static void fill_page(const struct row_builder *b, uint64_t page, struct unwind_table *t)
{
	uint32_t at = b->page_first[page];
	uint32_t end = page + 1 < b->at.nr_pages ? b->page_first[page + 1] : b->at.nr;
	uint64_t first_block = b->base >> PA_BLOCK_SHIFT;
	uint64_t block = ((b->base >> PA_PAGE_SHIFT) + page) * BLOCKS_PER_PAGE;

	if (at == end)
		return;
	for (uint32_t pc = 0; pc <= 0xffff; pc += PA_BLOCK_SIZE, block++) {
		uint32_t behind = first_from(b, at + 1, end, pc + PA_BLOCK_SIZE);

		if (block >= first_block && block - first_block < t->nr_blocks)
			t->blocks[block - first_block] = (struct pa_block){ at, behind - at };
		/* The next block begins with a row of its own, or with the last row of this block.
		 * */
		at = behind < end && b->rows[behind].pc == pc + PA_BLOCK_SIZE ? behind : behind - 1;
	}
}

int row_builder_finish(struct row_builder *b, struct unwind_table *t)
{
	uint64_t last;
	int r;

	r = add_known(b, UINT64_MAX);
	if (r < 0)
		return r;
	if (b->at.nr == 0)
		return 0;
	last = b->at.page_end - (1u << PA_PAGE_SHIFT) + b->rows[b->at.nr - 1].pc;
	t->base = b->base;
	t->nr_blocks = (uint32_t)((last - b->base) >> PA_BLOCK_SHIFT) + 1;
	t->blocks = calloc(t->nr_blocks, sizeof(*t->blocks));
	if (!t->blocks)
		return -ENOMEM;
	for (uint64_t page = 0; page < b->at.nr_pages; page++)
		fill_page(b, page, t);
	t->nr_rows = b->at.nr;
	t->rows = TAKE(b->rows);
	return 0;
}
