/* SPDX-License-Identifier: Apache-2.0 */
/* Code that is known by what it does: found in a file, and put over what the file says. */
#include "cfi_maker.h"
#include "elf_maker.h"
#include "unwind/known_code.h"

#define TEXT_BYTES 0x10000u
#define SIGNAL (PA_CFA_SIGNAL | PA_RULE_SIGNAL)
#define GO_RETURN "\x48\xc7\xc0\x0f\0\0\0\x0f\x05"
#define MUSL_RETURN "\xb8\x0f\0\0\0\x0f\x05"
#define ARM64_RETURN "\x68\x11\x80\xd2\x01\0\0\xd4"

static uint8_t text[TEXT_BYTES];
static struct cfi_maker m;

/* Text with some bytes at an offset; 0x55 around them is code. */
static void put(uint64_t at, const void *bytes, size_t n)
{
	memset(text, 0x55, sizeof(text));
	memcpy(text + at, bytes, n);
}

struct file {
	uint16_t machine;
	bool is_needy, is_go;
};

static struct known_code find(struct file f)
{
	const Elf64_Dyn needed = { .d_tag = DT_NEEDED };
	struct known_code k;
	struct elf_maker e;
	struct elf_image *img;

	maker_init(&e);
	e.ehdr.e_machine = f.machine;
	maker_segment(&e, PT_LOAD, PF_R | PF_X, CODE, maker_bytes(&e, text, sizeof(text)),
		      sizeof(text));
	if (f.is_needy)
		maker_section(&e, ".dynamic", SHT_DYNAMIC, 0, &needed, sizeof(needed));
	if (f.is_go)
		maker_section(&e, ".gopclntab", SHT_PROGBITS, 0, "", 0);
	maker_end(&e);
	img = maker_open(&e);
	must(known_code_find(img, &k) == 0);
	elf_image_free(img);
	maker_done(&e);
	return k;
}

static bool finds(struct file f, uint64_t start, uint64_t end)
{
	struct known_code k = find(f);
	bool is_it = k.nr == 1 && k.ranges[0].start == CODE + start &&
		     k.ranges[0].end == CODE + end && k.ranges[0].rule == SIGNAL;

	known_code_done(&k);
	return is_it;
}

static bool finds_nothing(struct file f)
{
	struct known_code k = find(f);
	bool is_nothing = k.nr == 0;

	known_code_done(&k);
	return is_nothing;
}

static void test_trampolines(void)
{
	struct file amd64 = { .machine = EM_X86_64 }, arm64 = { .machine = EM_AARCH64 };
	int nr_found = 0;

	put(0x100, BYTES(GO_RETURN "\xcd\x03"));
	ok(finds(amd64, 0xff, 0x10a), "Go's trampoline: from the byte before it to the one after "
				      "it, the pc in the system call");
	put(0x100, BYTES(GO_RETURN));
	ok(finds(amd64, 0xff, 0x109), "the code right after a trampoline is not part of it");
	put(0x100, BYTES(MUSL_RETURN "\x90"));
	ok(finds(amd64, 0xff, 0x108), "the short form is recognized");
	ok(finds_nothing(arm64), "the short form is not recognized on another architecture");
	put(0x100, BYTES(ARM64_RETURN "\0\0\0\0"));
	ok(finds(arm64, 0xff, 0x109), "AArch64's");
	put(TEXT_BYTES - 9, BYTES(GO_RETURN));
	ok(finds(amd64, TEXT_BYTES - 10, TEXT_BYTES + 1), "a trampoline at the end of the code");
	put(TEXT_BYTES - 8, BYTES("\x48\xc7\xc0\x0f\0\0\0\x0f"));
	ok(finds_nothing(amd64), "half a trampoline is not recognized");
	for (uint64_t at = 16384 - 12; at <= 16384 + 2; at++) {
		put(at, BYTES(GO_RETURN "\xcc"));
		nr_found += finds(amd64, at - 1, at + 10);
	}
	ok(nr_found == 15, "a trampoline is found once, wherever chunks end");
}

static void test_which_files(void)
{
	struct file needy = { .machine = EM_X86_64, .is_needy = true };
	struct file go = { .machine = EM_X86_64, .is_needy = true, .is_go = true };

	put(0x100, BYTES(GO_RETURN "\xcc"));
	ok(finds_nothing(needy), "a file that needs a library is not searched");
	ok(finds(go, 0xff, 0x10a), "a Go program is searched even if it needs a library");
}

static struct compiled compile_known(struct known_range *ranges, uint32_t nr)
{
	struct known_code k = { .ranges = ranges, .nr = nr };
	struct compiled c = { .cfi = cfi_maker_open(&m) };
	const struct cfi *source = c.cfi;

	must(rule_dict_init(&c.dict) == 0);
	must(unwind_compile_known(&source, m.len ? 1 : 0, &k, &c.dict, &c.table) == 0);
	return c;
}

#define RULE(off) ((pa_rule)PA_CFA_REG | 7u << PA_RULE_REG_SHIFT | (off) << PA_RULE_CFA_SHIFT)

/* Functions of 64 bytes with rsp + 16 from their second byte on. */
static void begin(int nr_functions)
{
	cfi_begin(&m);
	cfi_cie_x86(&m);
	for (int i = 0; i < nr_functions; i++)
		cfi_fde(&m, CODE + 64 * (uint64_t)i, 64, BYTES("\x41\x0e\x10"));
}

static void test_over_rows(void)
{
	struct known_range ranges[] = {
		{ CODE + 0x10, CODE + 0x20, SIGNAL },   /* inside a row */
		{ CODE + 0x30, CODE + 0x40, RULE(32) }, /* to the end of a function */
		{ CODE + 0x40, CODE + 0x48, SIGNAL },   /* from its start, over its first row */
		{ CODE + 0x48, CODE + 0x4c, RULE(16) }, /* what is said anyway */
	};
	struct compiled c;

	begin(2);
	c = compile_known(ranges, 4);
	ok(rule_at(&c, CODE + 0xf) == RULE(16) && rule_at(&c, CODE + 0x10) == SIGNAL &&
		   rule_at(&c, CODE + 0x1f) == SIGNAL && rule_at(&c, CODE + 0x20) == RULE(16),
	   "known code overrides the file's rule, which applies again after it");
	ok(rule_at(&c, CODE + 0x30) == RULE(32) && rule_at(&c, CODE + 0x3f) == RULE(32) &&
		   rule_at(&c, CODE + 0x40) == SIGNAL && rule_at(&c, CODE + 0x41) == SIGNAL,
	   "known ranges may be adjacent, and hide rows inside them");
	ok(rule_at(&c, CODE + 0x48) == RULE(16) && rule_at(&c, CODE + 0x7f) == RULE(16),
	   "the last hidden row applies after a known range");
	ok(rule_at(&c, CODE + 0x80) == PA_RULE_WORD_NONE, "the end of the code is unchanged");
	compiled_done(&c);
}

static void test_around_rows(void)
{
	struct known_range ranges[] = {
		{ CODE - 0x20000, CODE - 0x1fff0, SIGNAL },
		{ CODE + 0x3f, CODE + 0x30000, RULE(64) },
		{ CODE + 0x50000, CODE + 0x50001, SIGNAL },
	};
	struct compiled c;

	begin(1);
	c = compile_known(ranges, 3);
	ok(rule_at(&c, CODE - 0x20001) == PA_RULE_WORD_NONE &&
		   rule_at(&c, CODE - 0x20000) == SIGNAL &&
		   rule_at(&c, CODE - 0x1fff0) == PA_RULE_WORD_NONE,
	   "a known range may be before the first row");
	ok(rule_at(&c, CODE + 0x3e) == RULE(16) && rule_at(&c, CODE + 0x3f) == RULE(64) &&
		   rule_at(&c, CODE + 0x2ffff) == RULE(64) &&
		   rule_at(&c, CODE + 0x30000) == PA_RULE_WORD_NONE,
	   "a known range may extend over the last row and over pages");
	ok(rule_at(&c, CODE + 0x50000) == SIGNAL &&
		   rule_at(&c, CODE + 0x50001) == PA_RULE_WORD_NONE,
	   "a known range may be after all rows");
	compiled_done(&c);
	m.len = 0;
	c = compile_known(ranges, 3);
	ok(rule_at(&c, CODE) == PA_RULE_WORD_NONE && rule_at(&c, CODE + 0x40) == RULE(64),
	   "there may be known ranges without rows");
	compiled_done(&c);
}

static void test_damaged_entry(void)
{
	struct known_range ranges[] = { { CODE + 0x42, CODE + 0x48, SIGNAL } };
	struct compiled c;

	begin(1);
	cfi_fde(&m, CODE + 0x40, 64, BYTES("\x41\x0e\x10\x4f\x3f"));
	cfi_fde(&m, CODE + 0x80, 64, BYTES("\x41\x0e\x10"));
	c = compile_known(ranges, 1);
	ok(c.table->stats.nr_bad == 1, "a malformed entry after a known range is rolled back");
	ok(rule_at(&c, CODE + 0x41) == PA_RULE_WORD_NONE && rule_at(&c, CODE + 0x42) == SIGNAL &&
		   rule_at(&c, CODE + 0x48) == PA_RULE_WORD_NONE,
	   "the known range stays");
	compiled_done(&c);
}

int main(void)
{
	test_trampolines();
	test_which_files();
	test_over_rows();
	test_around_rows();
	test_damaged_entry();
	return tap_done();
}
