/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a compile job, as a process that was taken over by a hostile file might write it: a table
 * that is accepted can be shared and looked up. */
#include <stdint.h>
#include <stdlib.h>

#include "stacks/compile_job.h"
#include "stacks/shared_rules.h"

#define MAX_BLOCKS 1024u
#define STEP 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(const struct unwind_table *t, const struct rule_dict *dict)
{
	uint32_t nr = t->nr_blocks < MAX_BLOCKS ? t->nr_blocks : MAX_BLOCKS;

	for (uint64_t pc = t->base, i = 0; i < nr * (PA_BLOCK_SIZE / STEP); i++, pc += STEP)
		if (unwind_table_find_id(t, pc) >= dict->nr)
			abort(); /* no such rule */
}

static void share(struct unwind_table *t, const struct rule_dict *dict)
{
	struct shared_rules all;
	struct held_rules held;

	if (shared_rules_init(&all, NULL) < 0)
		return;
	if (shared_rules_enter(&all, t, dict->rules, &held) == 0) {
		look_up(t, &all.dict);
		shared_rules_leave(&all, &held, NULL);
	}
	shared_rules_done(&all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf bytes = BUF_INIT(size + 1);
	struct compiled_file f;
	struct rule_dict dict;

	if (rule_dict_init(&dict) < 0)
		return 0;
	if (buf_append(&bytes, data, size) == 0) {
		if (compile_result_read(&bytes, &dict, &f) == 0 && f.table)
			share(f.table, &dict);
		compiled_file_done(&f);
	}
	rule_dict_done(&dict);
	buf_done(&bytes);
	return 0;
}
