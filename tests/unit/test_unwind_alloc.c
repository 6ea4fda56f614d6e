/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of the CFI compiler fails once: -ENOMEM, and nothing leaks. */
#include "failing_alloc.h"

#include "cfi_maker.h"

static struct cfi_maker m;

/* Enough rows, rules and pages for every array to grow. */
static void make(void)
{
	char program[64];

	cfi_begin(&m);
	cfi_cie_x86(&m);
	for (unsigned int i = 0; i < 1200; i++) {
		program[0] = 0x0e;
		program[1] = (char)(0x80 | (i & 0x7f));
		program[2] = (char)(i >> 7);
		cfi_fde(&m, CODE + (uint64_t)(1200 - i) * 0x800, 0x400, program, 3);
	}
}

static int compile(void)
{
	struct cfi_bytes in = { .bytes = m.bytes,
				.size = m.len,
				.addr = MAKER_ADDR,
				.arch = m.arch,
				.code_start = 0x1000,
				.code_end = CODE_END };
	struct unwind_table *t = NULL;
	struct cfi_full_row row;
	const struct cfi *source;
	struct cfi *cfi = NULL;
	struct rule_dict dict;
	int r;

	r = rule_dict_init(&dict);
	if (r < 0)
		return r;
	r = cfi_open_bytes(&in, &cfi);
	source = cfi;
	if (r == 0)
		r = unwind_compile(&source, 1, &dict, &t);
	if (r == 0)
		r = cfi_rules_at(cfi, CODE + 0x800, &row);
	unwind_table_free(t);
	cfi_free(cfi);
	rule_dict_done(&dict);
	return r;
}

int main(void)
{
	unsigned long nr, nr_wrong = 0, nr_leaks = 0;

	make();
	nr_allocations = 0;
	must(compile() == 0);
	nr = nr_allocations;
	for (unsigned long i = 1; i <= nr; i++) {
		nr_live = 0;
		nr_allocations = 0;
		fail_at = i;
		nr_wrong += compile() != -ENOMEM;
		nr_leaks += nr_live != 0;
	}
	fail_at = 0;
	ok(nr > 10, "there are allocations to fail: %lu", nr);
	ok(nr_wrong == 0, "each failed allocation is reported as -ENOMEM");
	ok(nr_leaks == 0, "failed allocations leave nothing behind");
	return tap_done();
}
