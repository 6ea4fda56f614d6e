/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/table.h"

#include "base/bisect.h"
#include "unwind/rule_dict.h"

struct unwind_table *unwind_table_free(struct unwind_table *t)
{
	if (!t)
		return NULL;
	if (!t->store) {
		free(t->rows);
		free(t->blocks);
		free(t->rules);
	}
	free(t->store);
	free(t);
	return NULL;
}

void unwind_table_renumber(struct unwind_table *t, const uint16_t *numbers)
{
	for (uint32_t i = 0; i < t->nr_rows; i++)
		t->rows[i].rule = numbers[t->rows[i].rule];
	for (uint32_t i = 0; i < t->nr_rules; i++)
		t->rules[i] = numbers[t->rules[i]];
}

/* The block that covers pc; NULL: none. */
static const struct pa_block *block_of(const struct unwind_table *t, uint64_t pc)
{
	uint64_t i = (pc - t->base) >> PA_BLOCK_SHIFT;

	return pc >= t->base && i < t->nr_blocks && t->blocks[i].nr ? &t->blocks[i] : NULL;
}

/* The last row of the block at or before pc. */
static const struct pa_row *row_of(const struct unwind_table *t, const struct pa_block *b,
				   uint64_t pc)
{
	const struct pa_row *rows = &t->rows[b->first];

	return &rows[BISECT(i, b->nr - 1u, rows[i + 1].pc <= (uint16_t)pc)];
}

uint16_t unwind_table_find_id(const struct unwind_table *t, uint64_t pc)
{
	const struct pa_block *b = block_of(t, pc);

	return b ? row_of(t, b, pc)->rule : PA_RULE_ID_NONE;
}

pa_rule unwind_table_find(const struct unwind_table *t, const struct rule_dict *dict, uint64_t pc)
{
	return dict->rules[unwind_table_find_id(t, pc)];
}

uint64_t unwind_table_next(const struct unwind_table *t, uint64_t pc)
{
	const struct pa_block *b = block_of(t, pc);
	uint64_t block_end = (pc | (PA_BLOCK_SIZE - 1)) + 1;
	uint64_t end = t->base + ((uint64_t)t->nr_blocks << PA_BLOCK_SHIFT);
	const struct pa_row *row;

	if (pc < t->base)
		return t->base;
	if (pc >= end)
		return 0;
	if (!b)
		return block_end;
	row = row_of(t, b, pc) + 1;
	if (row == &t->rows[b->first + b->nr])
		return block_end;
	return (pc & ~0xffffull) | row->pc;
}
