/* SPDX-License-Identifier: Apache-2.0 */
/* CPython's trampolines have no CFI and need none, because all are alike. */
#include <elf.h>

#include "bpf/rows.h"
#include "stacks/compile_file.h"
#include "stacks/unwinder.h"
#include "unwind/known_code.h"
#include "unwind/trampoline.h"

/* 95,000 functions; code beyond that has no rule */
#define COVERED_BYTES (16 * TRAMPOLINE_ARENA_BYTES)

static pa_rule rule_at(uint64_t cfa_offset)
{
	return PA_CFA_REG | (pa_rule)PA_REG_X86_SP << PA_RULE_REG_SHIFT |
	       (pa_rule)cfa_offset << PA_RULE_CFA_SHIFT;
}

/* From the end of "sub $8, %rsp" to the end of "add $8, %rsp" the return address is at sp + 8. */
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

_Static_assert(TRAMPOLINE_LOOK_BYTES <= CODE_LOOK_MAX_BYTES, "must fit");

const struct code_recognizer *unwinder_recognizer(void)
{
#if defined(__x86_64__)
	static const struct code_recognizer of_trampolines = { TRAMPOLINE_ARENA_BYTES,
							       TRAMPOLINE_LOOK_BYTES,
							       trampoline_find };
	return &of_trampolines;
#else
	return NULL; /* on AArch64 trampolines keep a frame pointer */
#endif
}
