/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame information: the first byte says of what kind, the rest is the section. */
#include <stdint.h>
#include <stdlib.h>

#include "unwind/eh_frame.h"
#include "unwind/full_row.h"
#include "unwind/rule_dict.h"
#include "unwind/table.h"

#define IS_ARM64 1
#define IS_DEBUG_FRAME 2
#define SECTION_ADDR 0x4000u
#define CODE_START 0x1000u
#define CODE_END 0x10000000u
#define MAX_PROBES 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What bpf/rows.h promises to the walker. */
static void check_blocks(const struct unwind_table *t)
{
	for (uint32_t i = 0; i < t->nr_blocks; i++) {
		const struct pa_block *b = &t->blocks[i];
		uint16_t start = (uint16_t)(t->base + (uint64_t)i * PA_BLOCK_SIZE);

		if (b->nr == 0)
			continue;
		if (b->nr > PA_BLOCK_MAX_ROWS || b->first >= t->nr_rows ||
		    b->nr > t->nr_rows - b->first || t->rows[b->first].pc > start)
			abort();
		for (uint32_t k = b->first + 1; k < b->first + b->nr; k++)
			if (t->rows[k].pc <= t->rows[k - 1].pc)
				abort();
	}
}

/* Every rule can be asked for, and where there is one, the file has something to say. */
static void probe(const struct cfi *cfi, const struct unwind_table *t, const struct rule_dict *dict)
{
	struct cfi_full_row row;
	uint64_t pc = t->base;

	for (int i = 0; i < MAX_PROBES && t->nr_blocks && (i == 0 || pc); i++) {
		(void)unwind_table_find(t, dict, pc);
		if (cfi_rules_at(cfi, pc, &row) == 0 && (pc < row.start || pc >= row.end))
			abort();
		pc = unwind_table_next(t, pc);
	}
	(void)unwind_table_find(t, dict, UINT64_MAX);
}

static void compile(const struct cfi *cfi)
{
	struct unwind_table *t;
	struct rule_dict dict;

	if (rule_dict_init(&dict) < 0)
		return;
	if (unwind_compile(&cfi, 1, &dict, &t) == 0) {
		for (uint32_t i = 0; i < t->nr_rows; i++)
			if (t->rows[i].rule >= dict.nr)
				abort();
		check_blocks(t);
		probe(cfi, t, &dict);
		unwind_table_free(t);
	}
	rule_dict_done(&dict);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_bytes in = {
		.addr = SECTION_ADDR,
		.code_start = CODE_START,
		.code_end = CODE_END,
	};
	struct cfi *cfi;

	if (size == 0)
		return 0;
	in.bytes = data + 1;
	in.size = size - 1;
	in.arch = data[0] & IS_ARM64 ? &unwind_arch_arm64 : &unwind_arch_x86;
	in.is_debug_frame = data[0] & IS_DEBUG_FRAME;
	if (cfi_open_bytes(&in, &cfi) < 0)
		return 0;
	compile(cfi);
	cfi_free(cfi);
	return 0;
}
