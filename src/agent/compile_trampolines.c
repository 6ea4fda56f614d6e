/* SPDX-License-Identifier: Apache-2.0 */
/* CPython's trampolines have no call frame information, and need none: all are alike. */
#include <elf.h>

#include "agent/compile_file.h"
#include "bpf/rows.h"
#include "proc/trampoline.h"
#include "unwind/known_code.h"

#define COVERED_BYTES (16 * TRAMPOLINE_ARENA_BYTES) /* 95,000 functions; what follows has no rule */

static pa_rule rule_at(uint64_t cfa_offset)
{
	return PA_CFA_REG | (pa_rule)PA_REG_X86_SP << PA_RULE_REG_SHIFT |
	       (pa_rule)cfa_offset << PA_RULE_CFA_SHIFT;
}

/* Behind "sub $8, %rsp" and up to the end of "add $8, %rsp" the return address is 8 bytes up. */
static void add_one(struct known_code *k, uint64_t start, const struct trampoline *t)
{
	uint64_t body = start + t->endbr_bytes;

	k->ranges[k->nr++] = (struct known_range){ start, body + 4, rule_at(8) };
	k->ranges[k->nr++] = (struct known_range){ body + 4, body + 10, rule_at(16) };
	k->ranges[k->nr++] = (struct known_range){ body + 10, body + 11, rule_at(8) };
}

void compile_trampolines(const struct trampoline *t, struct rule_dict *dict,
			 struct compiled_file *ret_file)
{
	_cleanup_(known_code_done) struct known_code k = { 0 };
	uint64_t per_arena = TRAMPOLINE_ARENA_BYTES / t->stride;

	*ret_file = (struct compiled_file){ 0 };
	k.cap = (uint32_t)(COVERED_BYTES / TRAMPOLINE_ARENA_BYTES * per_arena * 3);
	k.ranges = calloc(k.cap, sizeof(*k.ranges));
	ret_file->loads = calloc(1, sizeof(*ret_file->loads));
	if (!k.ranges || !ret_file->loads)
		return;
	ret_file->loads[0] = (struct elf_segment){ .filesz = COVERED_BYTES, .flags = PF_X };
	ret_file->nr_loads = 1;
	for (uint64_t at = 0; at < COVERED_BYTES; at += TRAMPOLINE_ARENA_BYTES)
		for (uint64_t i = 0; i < per_arena; i++)
			add_one(&k, at + i * t->stride, t);
	if (unwind_compile_known(NULL, 0, &k, dict, &ret_file->table) < 0)
		ret_file->table = NULL;
}
