/* SPDX-License-Identifier: Apache-2.0 */
/* From FDEs to rows, pages, blocks, and back to the rule of a pc. */
#include "cfi_maker.h"

static struct cfi_maker m;
static uint8_t program[64 << 10];

static const pa_rule sp_8 = PA_CFA_REG | 7u << PA_RULE_REG_SHIFT | 8u << PA_RULE_CFA_SHIFT;
static const pa_rule sp_16 = PA_CFA_REG | 7u << PA_RULE_REG_SHIFT | 16u << PA_RULE_CFA_SHIFT;

static void begin(void)
{
	cfi_begin(&m);
	cfi_cie_x86(&m);
}

/* A function whose every byte but the first has rsp + 16. */
static void fde_16(uint64_t start, uint64_t size)
{
	cfi_fde(&m, start, size, BYTES("\x41\x0e\x10"));
}

/* What bpf/rows.h promises of a table. */
static bool is_sound(const struct unwind_table *t)
{
	for (uint32_t i = 0; i < t->nr_blocks; i++) {
		const struct pa_block *b = &t->blocks[i];
		uint16_t start = (uint16_t)(t->base + (uint64_t)i * PA_BLOCK_SIZE);

		if (b->nr == 0)
			continue;
		if (b->nr > PA_BLOCK_MAX_ROWS || b->first + b->nr > t->nr_rows ||
		    t->rows[b->first].pc > start)
			return false;
		for (uint32_t k = 1; k < b->nr; k++)
			if (t->rows[b->first + k].pc <= t->rows[b->first + k - 1].pc)
				return false;
	}
	return (t->base & (PA_BLOCK_SIZE - 1)) == 0;
}

static void test_bounds_of_an_fde(void)
{
	struct compiled c;

	begin();
	fde_16(CODE, 0x20);
	c = cfi_compile(&m);
	ok(rule_at(&c, CODE - 1) == PA_RULE_WORD_NONE, "no rule before the first FDE");
	ok(rule_at(&c, CODE) == sp_8, "the first byte has the first row");
	ok(rule_at(&c, CODE + 1) == sp_16, "the second row begins where it says");
	ok(rule_at(&c, CODE + 0x1f) == sp_16, "the last row applies to the end");
	ok(rule_at(&c, CODE + 0x20) == PA_RULE_WORD_NONE, "no rule after the last FDE");
	ok(rule_at(&c, 0) == PA_RULE_WORD_NONE, "no rule at 0");
	ok(rule_at(&c, UINT64_MAX) == PA_RULE_WORD_NONE, "no rule at the end of the address space");
	ok(is_sound(c.table), "the table is consistent");
	compiled_done(&c);
}

static void test_gaps(void)
{
	struct compiled c;

	begin();
	fde_16(CODE, 0x20);
	fde_16(CODE + 0x20 + 32, 0x20);
	fde_16(CODE + 0x60 + 33, 0x20);
	c = cfi_compile(&m);
	ok(rule_at(&c, CODE + 0x3f) == sp_16, "32 bytes between two FDEs are padding");
	ok(rule_at(&c, CODE + 0x60) == PA_RULE_WORD_NONE, "33 bytes are a gap without a rule");
	ok(rule_at(&c, CODE + 0x80) == PA_RULE_WORD_NONE, "a gap has no rule to its last byte");
	ok(rule_at(&c, CODE + 0x81) == sp_8, "after a gap the next FDE begins");
	compiled_done(&c);
}

static void test_equal_rows_are_one(void)
{
	struct compiled c;

	begin();
	cfi_fde(&m, CODE, 0x10, BYTES("\x44\x83\x02\x44\x0e\x08")); /* nothing that is followed */
	cfi_fde(&m, CODE + 0x10, 0x10, BYTES(""));
	c = cfi_compile(&m);
	/* one that carries "none" into the page, the rule, and the end */
	ok(c.table->nr_rows == 3, "a row equal to the previous one is dropped, across FDEs too");
	ok(c.table->nr_rules == 1, "the table lists the rules it uses");
	compiled_done(&c);
}

static void test_order(void)
{
	struct compiled c;

	begin();
	fde_16(CODE + 0x200, 0x20);
	fde_16(CODE, 0x20);
	fde_16(CODE + 0x100, 0x20);
	c = cfi_compile(&m);
	ok(rule_at(&c, CODE + 1) == sp_16 && rule_at(&c, CODE + 0x101) == sp_16 &&
		   rule_at(&c, CODE + 0x201) == sp_16,
	   "FDEs need not be in order");
	ok(rule_at(&c, CODE + 0x50) == PA_RULE_WORD_NONE,
	   "the gap between unordered FDEs has no rule");
	ok(is_sound(c.table), "the table of unordered FDEs is consistent");
	compiled_done(&c);
}

static void test_overlap(void)
{
	struct compiled c;

	begin();
	cfi_fde(&m, CODE, 0x100, BYTES(""));
	fde_16(CODE + 0x40, 0x20);
	c = cfi_compile(&m);
	ok(rule_at(&c, CODE + 0x3f) == sp_8, "overlap: the first FDE applies up to the second");
	ok(rule_at(&c, CODE + 0x41) == sp_16, "overlap: then the second applies");
	ok(rule_at(&c, CODE + 0x60) == PA_RULE_WORD_NONE,
	   "overlap: after the second neither applies");
	compiled_done(&c);

	begin();
	cfi_fde(&m, CODE, 0x100, BYTES(""));
	fde_16(CODE + 0x40, 0xb0);
	fde_16(CODE + 0x100, 0x20);
	c = cfi_compile(&m);
	ok(rule_at(&c, CODE + 0xf0) == PA_RULE_WORD_NONE,
	   "overlap: the rest of the first is code, and not taken for padding");
	compiled_done(&c);

	begin();
	cfi_fde(&m, CODE, 0x40, BYTES(""));
	cfi_fde(&m, CODE, 0x20, BYTES("\x0e\x10"));
	cfi_fde(&m, CODE, 0, BYTES(""));
	c = cfi_compile(&m);
	ok(rule_at(&c, CODE) == sp_16, "same start: the last non-empty FDE counts");
	ok(c.table->stats.nr_outside == 1, "same start: the empty FDE is counted");
	compiled_done(&c);
}

static void test_bad_fde_is_lost_alone(void)
{
	struct compiled c;
	size_t at;

	begin();
	fde_16(CODE, 0x20);
	cfi_fde(&m, CODE + 0x20, 0x10, BYTES("\x41\x0e\x18\x41\x0e\x20\x3f"));
	fde_16(CODE + 0x30, 0x20);
	c = cfi_compile(&m);
	ok(rule_at(&c, CODE + 0x1f) == sp_16, "malformed FDE: the one before it is kept");
	ok(rule_at(&c, CODE + 0x31) == sp_16, "malformed FDE: the one after it is kept");
	ok(rule_at(&c, CODE + 0x20) == PA_RULE_WORD_NONE &&
		   rule_at(&c, CODE + 0x2f) == PA_RULE_WORD_NONE,
	   "malformed FDE: it has no rule, and is not taken for padding");
	ok(c.table->stats.nr_bad == 1, "malformed FDE: it is counted");
	ok(is_sound(c.table), "malformed FDE: its rows are removed");
	compiled_done(&c);

	begin();
	fde_16(CODE, 0x20);
	at = cfi_fde(&m, CODE + 0x20, 0x10, BYTES(""));
	fde_16(CODE + 0x30, 0x20);
	fde_16(CODE + 0x50, 0x20); /* follows at once: nothing lies between */
	m.bytes[at + 4]++;         /* it names no CIE now */
	c = cfi_compile(&m);
	ok(is_sound(c.table), "no address has two rows, even in a malformed file");
	ok(rule_at(&c, CODE + 0x1f) == sp_16 && rule_at(&c, CODE + 0x31) == sp_16,
	   "malformed FDE head: its neighbours are kept");
	ok(rule_at(&c, CODE + 0x28) == PA_RULE_WORD_NONE, "malformed FDE head: there is no rule");
	ok(c.table->stats.nr_bad == 1, "malformed FDE head: it is counted");
	compiled_done(&c);
}

static void test_pages(void)
{
	struct compiled c;
	uint64_t page = 0x410000;

	begin();
	fde_16(page - 0x10, 0x20);
	fde_16(page + 0x20008, 0x30000); /* over three pages */
	c = cfi_compile(&m);
	ok(rule_at(&c, page - 1) == sp_16, "pages: the last byte of a page");
	ok(rule_at(&c, page) == sp_16, "pages: the rule is carried into the next page");
	ok(rule_at(&c, page + 0x10) == PA_RULE_WORD_NONE, "pages: a gap begins there");
	ok(rule_at(&c, page + 0x10000) == PA_RULE_WORD_NONE,
	   "pages: a whole page of gap has no rule");
	ok(rule_at(&c, page + 0x20007) == PA_RULE_WORD_NONE,
	   "pages: the start of the third has no rule");
	ok(rule_at(&c, page + 0x20009) == sp_16, "pages: the rules begin again");
	ok(rule_at(&c, page + 0x3ffff) == sp_16 && rule_at(&c, page + 0x40000) == sp_16,
	   "pages: the rule is carried from page to page");
	ok(rule_at(&c, page + 0x50007) == sp_16 && rule_at(&c, page + 0x50008) == 0,
	   "pages: to the end of the function");
	ok(is_sound(c.table), "pages: the table of several pages is consistent");
	ok(c.table->blocks[(page + 0x10000 - c.table->base) >> PA_BLOCK_SHIFT].nr == 0,
	   "pages: a page without a rule costs no row");
	compiled_done(&c);
}

/* One row for every byte of three blocks: the most there can be. */
static void test_densest_rows(void)
{
	uint64_t start = 0x40f001;
	uint32_t most = 0;
	bool all = true;
	struct compiled c;
	size_t n = 0;

	for (unsigned int i = 0; i < 3 * PA_BLOCK_SIZE; i++) {
		program[n++] = 0x0e;
		program[n++] = i % 2 ? 16 : 24;
		program[n++] = 0x41;
	}
	begin();
	cfi_fde(&m, start, 3 * PA_BLOCK_SIZE, program, n);
	c = cfi_compile(&m);
	for (uint64_t i = 0; i < 3 * PA_BLOCK_SIZE; i++)
		all &= PA_RULE_CFA_OFF(rule_at(&c, start + i)) == (i % 2 ? 16 : 24);
	for (uint32_t i = 0; i < c.table->nr_blocks; i++)
		if (c.table->blocks[i].nr > most)
			most = c.table->blocks[i].nr;
	ok(all, "a row for every byte: each byte finds its own");
	ok(most == PA_BLOCK_MAX_ROWS, "a block has at most 4096 rows");
	ok(is_sound(c.table), "the table with a row for every byte is consistent");
	compiled_done(&c);
}

static void test_next(void)
{
	struct compiled c;

	begin();
	fde_16(CODE + 0xff0, 0x20);
	c = cfi_compile(&m);
	ok(unwind_table_next(c.table, 0) == c.table->base, "next: the table's first block");
	ok(unwind_table_next(c.table, CODE + 0xff0) == CODE + 0xff1, "next: the second row");
	ok(unwind_table_next(c.table, CODE + 0xff1) == CODE + 0x1000, "next: the next block");
	ok(unwind_table_next(c.table, CODE + 0x1000) == CODE + 0x1010, "next: the end of the code");
	ok(unwind_table_next(c.table, CODE + 0x2000) == 0, "next: nothing after the last block");
	compiled_done(&c);
}

static void test_two_sources(void)
{
	static struct cfi_maker debug;
	const struct cfi *sources[2];
	struct unwind_table *t;
	struct rule_dict dict;
	struct cfi *a, *b;

	begin();
	fde_16(CODE + 0x100, 0x40);
	cfi_begin(&debug);
	debug.is_debug_frame = true;
	debug.encoding = 0;
	cfi_cie(&debug, 3, "", NULL, 0, 16, BYTES(X86_INITIAL));
	cfi_fde(&debug, CODE, 0x108, BYTES("\x0e\x18"));        /* runs into the other's */
	cfi_fde(&debug, CODE + 0x100, 0x40, BYTES("\x0e\x20")); /* the same function */
	cfi_fde(&debug, CODE + 0x130, 0x40, BYTES("\x0e\x28")); /* begins inside it */
	cfi_fde(&debug, CODE + 0x200, 0x40, BYTES("\x0e\x30"));
	a = cfi_maker_open(&m);
	b = cfi_maker_open(&debug);
	sources[0] = a;
	sources[1] = b;
	must(rule_dict_init(&dict) == 0 && unwind_compile(sources, 2, &dict, &t) == 0);
	ok(PA_RULE_CFA_OFF(unwind_table_find(t, &dict, CODE)) == 24,
	   "sources: the second fills in");
	ok(unwind_table_find(t, &dict, CODE + 0x100) == sp_8,
	   "sources: where both have a rule, the first counts");
	ok(unwind_table_find(t, &dict, CODE + 0x13f) == sp_16, "sources: to the end of its FDE");
	ok(unwind_table_find(t, &dict, CODE + 0x168) == PA_RULE_WORD_NONE,
	   "sources: an FDE that begins inside another is skipped");
	ok(PA_RULE_CFA_OFF(unwind_table_find(t, &dict, CODE + 0x200)) == 48,
	   "sources: and so is the next");
	unwind_table_free(t);
	ok(unwind_compile(sources, 0, &dict, &t) == -EINVAL, "sources: none is an error");
	debug.arch = &unwind_arch_arm64;
	cfi_free(b);
	b = cfi_maker_open(&debug);
	sources[1] = b;
	ok(unwind_compile(sources, 2, &dict, &t) == -EINVAL,
	   "sources: two architectures are an error");
	rule_dict_done(&dict);
	cfi_free(a);
	cfi_free(b);
}

/* Every entry costs its bytes; entries that share bytes must not cost them over and over. */
static void test_work_is_bounded(void)
{
	static const uint8_t nops[61440 - 17]; /* with its head, a CIE of 120 * 512 bytes */
	struct compiled c;

	cfi_begin(&m);
	m.encoding = 0x1b;
	/* Two in one place of the cache, so that each is read again and again. */
	cfi_cie(&m, 1, "zR", BYTES("\x1b"), 16, nops, sizeof(nops));
	cfi_cie(&m, 1, "zR", BYTES("\x1b"), 16, nops, sizeof(nops));
	must(m.cie == 61440);
	for (unsigned int i = 0; i < 2000; i++) {
		m.cie = i % 2 ? 61440 : 0;
		cfi_fde(&m, CODE + i * 0x100, 0x10, BYTES(""));
	}
	c = cfi_compile(&m);
	ok(c.table->stats.nr_bad > 1900 && c.table->stats.nr_fdes > 0,
	   "an FDE over the work limit is skipped and counted");
	compiled_done(&c);
}

static void test_rules_of_one_file_are_bounded(void)
{
	struct compiled c;
	size_t n = 0;

	for (unsigned int i = 0; i < UNWIND_MAX_RULES + 10; i++) {
		program[n++] = 0x0e;
		program[n++] = (uint8_t)(0x80 | (i & 0x7f));
		program[n++] = (uint8_t)(i >> 7);
		program[n++] = 0x41;
	}
	begin();
	cfi_fde(&m, CODE, 0x4000, program, n);
	c = cfi_compile(&m);
	ok(c.table->nr_rules == UNWIND_MAX_RULES, "rules per file are limited");
	ok(rule_at(&c, CODE + UNWIND_MAX_RULES - 1) != PA_RULE_WORD_USER,
	   "the last rule within the limit is kept");
	ok(rule_at(&c, CODE + UNWIND_MAX_RULES) == PA_RULE_WORD_USER,
	   "the next rule becomes one for user space");
	ok(c.table->stats.nr_refused == 10, "the refused rule is counted");
	compiled_done(&c);
}

static void test_empty(void)
{
	struct compiled c;

	cfi_begin(&m);
	c = cfi_compile(&m);
	ok(c.table->nr_rows == 0 && rule_at(&c, CODE) == PA_RULE_WORD_NONE,
	   "an empty source has no rules");
	ok(unwind_table_next(c.table, 0) == 0, "an empty source has no next row");
	compiled_done(&c);
	begin();
	cfi_fde(&m, CODE_END, 0x100, BYTES(""));
	cfi_fde(&m, CODE_END - 0x10, 0x100, BYTES(""));
	c = cfi_compile(&m);
	ok(rule_at(&c, CODE_END - 1) == sp_8 && rule_at(&c, CODE_END) == PA_RULE_WORD_NONE,
	   "next: nothing beyond the code");
	compiled_done(&c);
}

int main(void)
{
	test_bounds_of_an_fde();
	test_gaps();
	test_equal_rows_are_one();
	test_order();
	test_overlap();
	test_bad_fde_is_lost_alone();
	test_pages();
	test_densest_rows();
	test_next();
	test_two_sources();
	test_work_is_bounded();
	test_rules_of_one_file_are_bounded();
	test_empty();
	return tap_done();
}
