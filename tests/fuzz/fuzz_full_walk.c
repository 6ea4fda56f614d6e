/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk with all registers over a stack and by rules that are both hostile. The first byte says of
 * what kind, the second how many 64-byte pieces of stack follow; the rest is the section.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/eh_frame.h"
#include "unwind/full_row.h"
#include "unwind/full_walk.h"
#include "unwind/rule_dict.h"
#include "unwind/table.h"

#define IS_ARM64 1
#define IS_DEBUG_FRAME 2
#define SECTION_ADDR 0x4000u
#define CODE_START 0x1000u
#define CODE_END 0x10000000u
#define STACK_ADDR 0x20000000u
#define PIECE_BYTES 64u
#define MAX_STARTS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *stack;
	size_t stack_bytes;
	const struct cfi *cfi;
	const struct unwind_table *table;
	const struct rule_dict *dict;
};

static int read_stack(void *ctx, uint64_t addr, void *to, size_t size)
{
	const struct input *in = ctx;

	if (addr < STACK_ADDR || size > in->stack_bytes ||
	    addr - STACK_ADDR > in->stack_bytes - size)
		return -1;
	memcpy(to, in->stack + (addr - STACK_ADDR), size);
	return 0;
}

static uint32_t find_rule(void *ctx, uint64_t pc, pa_rule *ret_word, struct cfi_full_row *ret_row)
{
	const struct input *in = ctx;

	*ret_word = unwind_table_find(in->table, in->dict, pc);
	if (*ret_word != PA_RULE_WORD_NONE && cfi_rules_at(in->cfi, pc, ret_row) < 0)
		ret_row->nr_regs = 0; /* filling behind a function: the word alone */
	return 0;
}

/* One after the other, by the pc. */
static enum pa_record_place record_at(void *ctx, uint64_t pc)
{
	(void)ctx;
	return (enum pa_record_place)(pc % 3);
}

static bool can_return_to(void *ctx, uint64_t pc)
{
	(void)ctx;
	return pc % 2;
}

/* Registers are made of the stack, so that they lead into it or into the code now and then. */
static void walk_from(struct input *in, uint64_t pc)
{
	static const struct full_walk_source source = { read_stack, find_rule, record_at,
							can_return_to };
	const struct unwind_arch *arch = cfi_arch(in->cfi);
	uint64_t regs[32];
	struct full_walk w;

	for (unsigned int i = 0; i < 32; i++)
		regs[i] = STACK_ADDR + (in->stack_bytes ? in->stack[i % in->stack_bytes] : 0u) * 8;
	full_walk_init(&w, arch, pc, regs, 32);
	w.source = &source;
	w.ctx = in;
	while (full_walk_frame(&w))
		if (w.at.nr > PA_MAX_USER_FRAMES || !(w.regs.known >> arch->sp & 1) ||
		    w.regs.v[arch->pc] != w.at.pc)
			abort();
}

static void walk(struct input *in)
{
	struct unwind_table *t;
	struct rule_dict dict;

	if (rule_dict_init(&dict) < 0)
		return;
	if (unwind_compile(&in->cfi, 1, &dict, &t) == 0) {
		uint64_t pc = t->base;

		in->table = t;
		in->dict = &dict;
		for (int i = 0; i < MAX_STARTS && t->nr_blocks && (i == 0 || pc); i++) {
			walk_from(in, pc);
			pc = unwind_table_next(t, pc);
		}
		unwind_table_free(t);
	}
	rule_dict_done(&dict);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_bytes bytes = { .addr = SECTION_ADDR,
				   .code_start = CODE_START,
				   .code_end = CODE_END };
	struct input in = { 0 };
	struct cfi *cfi;

	if (size < 2)
		return 0;
	in.stack = data + 2;
	in.stack_bytes = data[1] * PIECE_BYTES;
	if (in.stack_bytes > size - 2)
		in.stack_bytes = size - 2;
	bytes.bytes = in.stack + in.stack_bytes;
	bytes.size = size - 2 - in.stack_bytes;
	bytes.arch = data[0] & IS_ARM64 ? &unwind_arch_arm64 : &unwind_arch_x86;
	bytes.is_debug_frame = data[0] & IS_DEBUG_FRAME;
	if (cfi_open_bytes(&bytes, &cfi) < 0)
		return 0;
	in.cfi = cfi;
	walk(&in);
	cfi_free(cfi);
	return 0;
}
