/* SPDX-License-Identifier: Apache-2.0 */
/* Each instruction of call frame information, and each kind of rule that comes of them. */
#include "cfi_maker.h"

#include "elf/elf_image.h"
#include "elf_maker.h"

#define RBP 6
#define RSP 7

static struct cfi_maker m;

/* The rule 0x10 bytes into a function with these instructions; the first is at its start. */
static pa_rule rule_after(const void *program, size_t n)
{
	struct compiled c;
	pa_rule rule;

	cfi_fde(&m, CODE, 0x100, program, n);
	c = cfi_compile(&m);
	rule = rule_at(&c, CODE + 0x10);
	compiled_done(&c);
	return rule;
}

static pa_rule x86(const void *program, size_t n)
{
	cfi_begin(&m);
	cfi_cie_x86(&m);
	return rule_after(program, n);
}

static pa_rule arm64(const void *program, size_t n)
{
	cfi_begin(&m);
	cfi_cie_arm64(&m);
	return rule_after(program, n);
}

static void test_cfa(void)
{
	ok(x86(BYTES("")) == rule_reg(RSP, 8), "CFA: without instructions the CIE's rule applies");
	ok(x86(BYTES("\x0e\x10")) == rule_reg(RSP, 16), "def_cfa_offset");
	ok(x86(BYTES("\x0e\x80\x80\x80\x04")) == rule_reg(RSP, 8 << 20),
	   "CFA: an offset of 8 MiB fits");
	ok(x86(BYTES("\x0e\x80\x80\x80\x10")) == PA_RULE_WORD_USER,
	   "CFA: an offset of 32 MiB does not fit");
	ok(x86(BYTES("\x0d\x06")) == rule_reg(RBP, 8), "def_cfa_register");
	ok(x86(BYTES("\x0c\x06\x10")) == rule_reg(RBP, 16), "def_cfa");
	ok(x86(BYTES("\x12\x07\x7e")) == rule_reg(RSP, 16), "CFA: def_cfa_sf is in units of -8");
	ok(x86(BYTES("\x13\x7d")) == rule_reg(RSP, 24), "CFA: def_cfa_offset_sf is in units of -8");
	ok(x86(BYTES("\x0c\x0a\x00")) == rule_reg(10, 0), "CFA: another register keeps its number");
	ok(x86(BYTES("\x0c\x28\x00")) == PA_RULE_WORD_USER,
	   "CFA: a register above 31 is left to user space");
	ok(x86(BYTES("\x0f\x02\x77\x10\x0d\x06")) == rule_reg(RBP, 8),
	   "def_cfa_register after an expression keeps the offset from before it");
	ok(x86(BYTES("\x0f\x02\x77\x10\x0e\x20")) == rule_reg(RSP, 32),
	   "def_cfa_offset after an expression keeps the register from before it");
}

static void test_expressions(void)
{
	pa_rule deref = PA_CFA_DEREF | 7u << PA_RULE_REG_SHIFT;

	ok(x86(BYTES("\x0f\x02\x77\x10")) == rule_reg(RSP, 16), "CFA: breg7 is register + offset");
	ok(x86(BYTES("\x0f\x04\x92\x07\x10\x96")) == rule_reg(RSP, 16),
	   "CFA: bregx with nop is register + offset");
	ok(x86(BYTES("\x0f\x04\x77\x10\x23\x08")) == rule_reg(RSP, 24), "plus_uconst");
	ok(x86(BYTES("\x0f\x04\x77\x10\x38\x1c")) == rule_reg(RSP, 8), "lit8 minus");
	ok(x86(BYTES("\x0f\x04\x38\x77\x10\x22")) == rule_reg(RSP, 24),
	   "CFA: lit8 first, then plus");
	ok(x86(BYTES("\x0f\x05\x77\x10\x09\xf8\x22")) == rule_reg(RSP, 8), "const1s plus");
	ok(x86(BYTES("\x0f\x03\x76\x78\x06")) ==
		   (PA_CFA_DEREF | 6u << PA_RULE_REG_SHIFT | 0x3fff8ull << PA_RULE_CFA_SHIFT),
	   "CFA: *(rbp - 8), as in a realigned stack");
	ok(x86(BYTES("\x0f\x06\x77\xd8\x00\x06\x23\x08")) ==
		   (deref | 88ull << PA_RULE_CFA_SHIFT | 8ull << PA_RULE_ADD_SHIFT),
	   "CFA: *(rsp + 88) + 8, as in OpenSSL");
	ok(x86(BYTES("\x0f\x03\x77\x78\x06")) == (deref | 0x3fff8ull << PA_RULE_CFA_SHIFT),
	   "CFA: *(rsp - 8): the red zone");
	ok(x86(BYTES("\x0f\x07\x77\x10\x06\x23\x80\x08\x96")) == PA_RULE_WORD_USER,
	   "CFA: a large number added outside is left to user space");
	ok(x86(BYTES("\x0f\x04\x77\x10\x06\x06")) == PA_RULE_WORD_USER,
	   "CFA: two dereferences are left to user space");
	ok(x86(BYTES("\x0f\x04\x77\x10\x38\x1e")) == PA_RULE_WORD_USER,
	   "CFA: a multiplication is left to user space");
	ok(x86(BYTES("\x0f\x00")) == PA_RULE_WORD_USER,
	   "CFA: an empty expression is left to user space");
	ok(x86(BYTES("\x0f\x01\x22")) == PA_RULE_WORD_USER,
	   "CFA: an expression that pops too much is left to user space");
	ok(x86(BYTES("\x0f\x0a\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30")) == PA_RULE_WORD_USER,
	   "CFA: an expression that pushes too much is left to user space");
}

static void test_plt(void)
{
	pa_rule plt = PA_CFA_PLT | 11ull << PA_RULE_CFA_SHIFT;

	ok(x86(BYTES("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22")) == plt,
	   "the PLT form, with 11");
	ok(x86(BYTES("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3a\x2a\x33\x24\x22")) ==
		   (PA_CFA_PLT | 10ull << PA_RULE_CFA_SHIFT),
	   "the PLT form, with 10");
	ok(x86(BYTES("\x0f\x0b\x77\x10\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22")) == PA_RULE_WORD_USER,
	   "PLT form: another offset is not that form");
	ok(x86(BYTES("\x0f\x0b\x77\x08\x80\x00\x3e\x1a\x3b\x2a\x33\x24\x22")) == PA_RULE_WORD_USER,
	   "PLT form: another mask is not that form");
}

static void test_fp(void)
{
	pa_rule cfa = rule_reg(RSP, 8);

	ok(x86(BYTES("\x86\x02")) == (cfa | rule_fp_at_cfa(-16)), "offset");
	ok(x86(BYTES("\x05\x06\x02")) == (cfa | rule_fp_at_cfa(-16)), "offset_extended");
	ok(x86(BYTES("\x11\x06\x02")) == (cfa | rule_fp_at_cfa(-16)), "offset_extended_sf");
	ok(x86(BYTES("\x11\x06\x7e")) == (cfa | rule_fp_at_cfa(16)),
	   "FP: offset_extended_sf has a signed operand");
	ok(x86(BYTES("\x2f\x06\x02")) == (cfa | rule_fp_at_cfa(16)), "GNU_negative_offset");
	ok(x86(BYTES("\x86\x02\xc6")) == cfa, "FP: restore goes back to the CIE's rule, here none");
	ok(x86(BYTES("\x86\x02\x06\x06")) == cfa, "restore_extended");
	ok(x86(BYTES("\x86\x02\x08\x06")) == cfa, "same_value");
	ok(x86(BYTES("\x07\x06")) == (cfa | rule_fp(PA_FP_LOST)), "undefined: lost");
	ok(x86(BYTES("\x09\x06\x03")) == (cfa | rule_fp(PA_FP_LOST)), "FP: in a register: lost");
	ok(x86(BYTES("\x09\x06\x06")) == cfa, "FP: in itself: unchanged");
	ok(x86(BYTES("\x14\x06\x02")) == (cfa | rule_fp(PA_FP_LOST)), "val_offset: lost");
	ok(x86(BYTES("\x15\x06\x02")) == (cfa | rule_fp(PA_FP_LOST)), "val_offset_sf: lost");
	ok(x86(BYTES("\x16\x06\x02\x76\x00")) == (cfa | rule_fp(PA_FP_LOST)), "val_expression");
	ok(x86(BYTES("\x10\x06\x02\x76\x00")) == (cfa | rule_fp(PA_FP_AT_FP)),
	   "FP: at *(rbp), as in a realigned stack");
	ok(x86(BYTES("\x10\x06\x02\x77\x78")) == (cfa | rule_fp_at_cfa(-16)),
	   "FP: at rsp - 8 while the CFA is rsp + 8: at CFA - 16");
	ok(x86(BYTES("\x10\x06\x02\x40\x1c")) == (cfa | rule_fp_at_cfa(-16)),
	   "FP: an expression begins with the CFA on the stack");
	ok(x86(BYTES("\x10\x06\x02\x73\x00")) == (cfa | rule_fp(PA_FP_LOST)),
	   "FP: relative to an untracked register: lost");
	ok(x86(BYTES("\x10\x06\x02\x76\x01")) == (cfa | rule_fp(PA_FP_LOST)),
	   "FP: at an odd address: lost");
	ok(x86(BYTES("\x83\x02\x8c\x03\x05\x28\x04")) == cfa, "other registers make no difference");
}

static void test_ra(void)
{
	pa_rule cfa = rule_reg(RSP, 8);

	ok(x86(BYTES("\x07\x10")) == PA_CFA_END, "RA: undefined means the outermost frame");
	ok(x86(BYTES("\x0c\x06\x10\x86\x02\x07\x10")) == PA_CFA_END,
	   "RA: undefined overrides everything else");
	ok(x86(BYTES("\x90\x03")) == (cfa | rule_ra(PA_RA_AT_CFA) | rule_slot(-24)), "elsewhere");
	ok(x86(BYTES("\x86\x04\x90\x03")) == (cfa | rule_fp_at_cfa(-32) | rule_ra(PA_RA_AFTER_FP)),
	   "RA: after the frame pointer");
	ok(x86(BYTES("\x86\x05\x90\x03")) ==
		   (cfa | rule_fp(PA_FP_AT_CFA) | rule_ra(PA_RA_BOTH) |
		    (-5ull & 0x7ff) << PA_RULE_SLOT_SHIFT | (-3ull & 0x7ff) << PA_RULE_HALF_SHIFT),
	   "RA: two separate slots");
	ok(x86(BYTES("\x09\x10\x05")) == (cfa | rule_ra(PA_RA_REG) | 5ull << PA_RULE_SLOT_SHIFT),
	   "RA: in a register, as in vfork");
	ok(x86(BYTES("\x86\x02\x09\x10\x05")) == PA_RULE_WORD_USER,
	   "RA: in a register with the frame pointer saved does not fit into a rule");
	ok(x86(BYTES("\x08\x10")) == PA_RULE_WORD_USER, "RA: unchanged is invalid on x86-64");
	ok(x86(BYTES("\x10\x10\x02\x77\x00")) == cfa, "RA: an expression that means CFA - 8");
	ok(x86(BYTES("\x10\x10\x02\x73\x00")) == PA_RULE_WORD_USER,
	   "RA: a complex expression is left to user space");
}

static void test_sp(void)
{
	ok(x86(BYTES("\x14\x07\x00")) == rule_reg(RSP, 8), "SP: an explicit SP = CFA");
	ok(x86(BYTES("\x09\x07\x08")) == PA_RULE_WORD_USER, "SP: in a register, as in longjmp");
}

static void test_state(void)
{
	pa_rule cfa = rule_reg(RSP, 8);

	ok(x86(BYTES("\x0a\x0e\x20\x86\x02\x0b")) == cfa, "state: restore_state restores all");
	ok(x86(BYTES("\x0a\x0e\x10\x0a\x0e\x20\x0b")) == rule_reg(RSP, 16), "state: states nest");
	ok(x86(BYTES("\x2e\x20")) == cfa, "state: GNU_args_size makes no difference");
	ok(x86(BYTES("\x0e\xa0\x01\x0a\x0e\x20\x0b")) == rule_reg(RSP, 160),
	   "state: an offset that is not small is restored");
	ok(x86(BYTES("\x0a\x41\x0d\x06\x41\x0b")) == cfa,
	   "state: a register is restored, rows later");
	ok(x86(BYTES("\x0e\x20\x0a\x41\x0e\x08\x41\x0b")) == rule_reg(RSP, 32),
	   "state: an offset alone is restored after an epilogue");
	ok(x86(BYTES("\x0f\x02\x77\x10\x0a\x0c\x07\x18\x0b")) == rule_reg(RSP, 16),
	   "state: an expression is restored");
	ok(x86(BYTES("\x0b")) == PA_RULE_WORD_NONE, "state: restore without remember is malformed");
	ok(x86(BYTES("\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a")) == cfa,
	   "state: sixteen states can be remembered");
	ok(x86(BYTES("\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a")) ==
		   PA_RULE_WORD_NONE,
	   "state: seventeen states are too many");
	ok(x86(BYTES("\x3f")) == PA_RULE_WORD_NONE, "malformed: an unknown instruction");
	ok(x86(BYTES("\x2d")) == PA_RULE_WORD_NONE,
	   "malformed: an instruction of another architecture");
	ok(x86(BYTES("\x0e")) == PA_RULE_WORD_NONE, "malformed: a missing operand");
	ok(x86(BYTES("\x0f\x09\x77")) == PA_RULE_WORD_NONE, "malformed: a truncated expression");
}

static uint32_t nr_rows_of(const void *program, size_t n)
{
	struct compiled c;
	uint32_t nr;

	cfi_begin(&m);
	cfi_cie_x86(&m);
	cfi_fde(&m, CODE, 0x100, program, n);
	c = cfi_compile(&m);
	nr = c.table->nr_rows;
	compiled_done(&c);
	return nr;
}

static void test_locations(void)
{
	/* A row at the start and another at +4, by every way of going there. */
	ok(x86(BYTES("\x44\x0e\x10")) == rule_reg(RSP, 16), "advance_loc");
	ok(x86(BYTES("\x02\x04\x0e\x10")) == rule_reg(RSP, 16), "advance_loc1");
	ok(x86(BYTES("\x03\x04\x00\x0e\x10")) == rule_reg(RSP, 16), "advance_loc2");
	ok(x86(BYTES("\x04\x04\x00\x00\x00\x0e\x10")) == rule_reg(RSP, 16), "advance_loc4");
	ok(x86(BYTES("\x02\x11\x0e\x10")) == rule_reg(RSP, 8), "rows: later rows do not count");
	ok(x86(BYTES("\x40\x0e\x10")) == rule_reg(RSP, 16), "rows: an advance of 0 is ignored");
	ok(nr_rows_of(BYTES("\x41\x0e\x10")) == nr_rows_of(BYTES("\x40\x0e\x10")) + 1,
	   "rows: an advance of 0 makes no row");

	cfi_begin(&m);
	m.encoding = 0x03;
	cfi_cie(&m, 1, "zR", BYTES("\x03"), 16, BYTES(X86_INITIAL));
	ok(rule_after(BYTES("\x01\x04\x10\x40\x00\x0e\x10")) == rule_reg(RSP, 16), "set_loc");
	cfi_begin(&m);
	cfi_cie(&m, 1, "zR", BYTES("\x03"), 16, BYTES(X86_INITIAL));
	ok(rule_after(BYTES("\x01\x00\x00\x40\x00\x0e\x10")) == PA_RULE_WORD_NONE,
	   "rows: set_loc does not go back");
}

static void test_cie(void)
{
	static const struct {
		uint8_t version;
		const char *augmentation, *data;
		size_t data_bytes;
		uint8_t encoding;
		const char *what;
	} cies[] = {
		{ 1, "", NULL, 0, 0x00, "CIE: no augmentation means absolute addresses" },
		{ 3, "", NULL, 0, 0x00, "version 3" },
		{ 1, "eh", NULL, 0, 0x00, "eh, of GCC 2" },
		{ 1, "zR", "\x1b", 1, 0x1b, "CIE: zR, relative and signed" },
		{ 1, "zR", "\x03", 1, 0x03, "zR, absolute, 4 bytes" },
		{ 1, "zR", "\x0c", 1, 0x0c, "zR, absolute, 8 bytes" },
		{ 1, "zR", "\x1c", 1, 0x1c, "zR, relative, 8 bytes" },
		{ 1, "zPLR", "\x9b\1\2\3\4\x1b\x1b", 7, 0x1b, "CIE: zPLR, as in C++" },
		{ 1, "zPLR", "\0\1\2\3\4\5\6\7\10\x1b\x1b", 11, 0x1b,
		  "CIE: a personality of 8 bytes" },
		{ 1, "zRB", "\x1b", 1, 0x1b, "CIE: zRB, as on AArch64" },
		{ 1, "zRx", "\x1b", 1, 0x1b,
		  "CIE: an unknown letter after what matters is accepted" },
	};

	for (size_t i = 0; i < sizeof(cies) / sizeof(cies[0]); i++) {
		cfi_begin(&m);
		m.encoding = cies[i].encoding;
		cfi_cie(&m, cies[i].version, cies[i].augmentation, cies[i].data, cies[i].data_bytes,
			16, BYTES(X86_INITIAL));
		ok(rule_after(BYTES("")) == rule_reg(RSP, 8), "%s", cies[i].what);
	}
	cfi_begin(&m);
	m.encoding = 0x1b;
	cfi_cie(&m, 1, "zR", BYTES("\x1b"), 16, BYTES(X86_INITIAL "\x86\x02"));
	ok(rule_after(BYTES("\x08\x06\xc6")) == (rule_reg(RSP, 8) | rule_fp_at_cfa(-16)),
	   "CIE: restore goes back to its rule");
}

static void test_bad_cies(void)
{
	static const struct {
		uint8_t version;
		const char *augmentation, *data;
		size_t data_bytes;
		uint8_t ra;
		const char *what;
	} cies[] = {
		{ 2, "zR", "\x1b", 1, 16, "CIE: an unknown version is malformed" },
		{ 4, "zR", "\x1b", 1, 16, "version 4 in .eh_frame" },
		{ 1, "zxR", "\x1b", 1, 16,
		  "CIE: an unknown letter before what matters is malformed" },
		{ 1, "R", NULL, 0, 16, "CIE: an augmentation without its size is malformed" },
		{ 1, "zR", "\x9b", 1, 16, "CIE: indirect addresses are malformed" },
		{ 1, "zR", "\x3b", 1, 16, "CIE: addresses relative to data are malformed" },
		{ 1, "zR", "", 0, 16, "CIE: missing augmentation data is malformed" },
		{ 1, "zR", "\x1b", 1, 17,
		  "CIE: a return address in an unknown column is malformed" },
		{ 1, "zR", "\x1b", 1, 6,
		  "CIE: a return address in the frame pointer is malformed" },
	};

	for (size_t i = 0; i < sizeof(cies) / sizeof(cies[0]); i++) {
		cfi_begin(&m);
		m.encoding = 0x1b;
		cfi_cie(&m, cies[i].version, cies[i].augmentation, cies[i].data, cies[i].data_bytes,
			cies[i].ra, BYTES(X86_INITIAL));
		ok(rule_after(BYTES("")) == PA_RULE_WORD_NONE, "no rule: %s", cies[i].what);
	}
}

static void test_debug_frame(void)
{
	for (uint8_t version = 1; version <= 4; version++) {
		if (version == 2)
			continue;
		cfi_begin(&m);
		m.is_debug_frame = true;
		m.encoding = 0x00;
		cfi_put(&m, 0, 4); /* an empty entry, which ends only .eh_frame */
		cfi_cie(&m, version, "", NULL, 0, 16, BYTES(X86_INITIAL));
		cfi_fde(&m, 0, 0x50, BYTES("")); /* of a function that was dropped */
		ok(rule_after(BYTES("\x0e\x10")) == rule_reg(RSP, 16), ".debug_frame, version %u",
		   version);
	}
}

static void test_arm64(void)
{
	pa_rule entry = rule_reg(31, 0) | rule_ra(PA_RA_LR);

	ok(arm64(BYTES("")) == entry, "AArch64: the return address is in the link register");
	ok(arm64(BYTES("\x0e\x20\x9d\x04\x9e\x03")) ==
		   (rule_reg(31, 32) | rule_fp_at_cfa(-32) | rule_ra(PA_RA_AFTER_FP)),
	   "AArch64: a frame record at the bottom, as by GCC");
	ok(arm64(BYTES("\x0e\x20\x9d\x02\x9e\x01")) == (rule_reg(31, 32) | rule_fp_at_cfa(-16)),
	   "AArch64: a frame record at the top, as by clang");
	ok(arm64(BYTES("\x0c\x1d\x20\x9d\x80\x80\x08\x9e\xff\xff\x07")) ==
		   (rule_reg(29, 32) | rule_fp_at_cfa(-(1 << 20)) | rule_ra(PA_RA_AFTER_FP)),
	   "AArch64: a frame of a megabyte");
	ok(arm64(BYTES("\x0e\x10\x9e\x02")) ==
		   (rule_reg(31, 16) | rule_ra(PA_RA_AT_CFA) | rule_slot(-16)),
	   "AArch64: only the link register is saved");
	ok(arm64(BYTES("\x0e\x10\x9d\x02")) ==
		   (rule_reg(31, 16) | rule_fp_at_cfa(-16) | rule_ra(PA_RA_LR)),
	   "AArch64: only the frame pointer is saved");
	/* offset_extended_sf of -1 times -8: the return address 8 bytes above the CFA. */
	ok(arm64(BYTES("\x0e\x20\x11\x1e\x7f")) == rule_reg(31, 48),
	   "AArch64: bytes pushed by a stub are counted, although the file does not");
	ok(arm64(BYTES("\x0e\x20\x11\x1e\x7f\x9d\x02")) == (rule_reg(31, 48) | rule_fp_at_cfa(-32)),
	   "AArch64: other slots stay where they are");
	ok(arm64(BYTES("\x0c\x00\x00\x11\x1e\x7f")) ==
		   (rule_reg(0, 0) | rule_ra(PA_RA_AT_CFA) | rule_slot(8)),
	   "AArch64: a buffer that another register points to is not a slot");
	ok(arm64(BYTES("\x2d")) == (entry | PA_RULE_SIGNED), "negate_ra_state: signed");
	ok(arm64(BYTES("\x2c")) == (entry | PA_RULE_SIGNED),
	   "AArch64: negate_ra_state_with_pc toggles signing");
	ok(arm64(BYTES("\x2d\x2d")) == entry, "AArch64: toggled twice: not signed");
	ok(arm64(BYTES("\x2d\x0a\x2d\x0b")) == (entry | PA_RULE_SIGNED),
	   "AArch64: signing is part of the remembered state");
	ok(arm64(BYTES("\x07\x1e")) == PA_CFA_END, "AArch64: the outermost frame");
	ok(arm64(BYTES("\x09\x1e\x0f")) ==
		   (rule_reg(31, 0) | rule_ra(PA_RA_REG) | 15ull << PA_RULE_SLOT_SHIFT),
	   "AArch64: in another register");
	cfi_begin(&m);
	m.arch = &unwind_arch_arm64;
	m.encoding = 0x1b;
	cfi_cie(&m, 1, "zR", BYTES("\x1b"), 15, BYTES("\x0c\x1f\x00"));
	ok(rule_after(BYTES("")) ==
		   (rule_reg(31, 0) | rule_ra(PA_RA_REG) | 15ull << PA_RULE_SLOT_SHIFT),
	   "AArch64: in another column, as in rawmemchr of glibc");
}

/* The rules of a function's first instruction, and of its second. */
static bool is_one_rule(const void *program, size_t n)
{
	struct compiled c;
	bool is_one;

	cfi_begin(&m);
	cfi_cie_arm64(&m);
	cfi_fde(&m, CODE, 0x100, program, n);
	c = cfi_compile(&m);
	is_one = rule_at(&c, CODE) == rule_at(&c, CODE + 8);
	compiled_done(&c);
	return is_one;
}

static void test_landing_pad(void)
{
	ok(is_one_rule(BYTES("\x44\x11\x1e\x7f")),
	   "AArch64: a landing pad before code that a stub jumps to has that code's rule");
	ok(!is_one_rule(BYTES("\x48\x11\x1e\x7f")),
	   "AArch64: two instructions are not a landing pad");
	ok(!is_one_rule(BYTES("\x44\x0e\x20\x11\x1e\x7f")),
	   "AArch64: an instruction that has pushed something is not a landing pad");
	ok(!is_one_rule(BYTES("\x44\x0e\x20\x9e\x01")),
	   "AArch64: the first instruction of a function is not a landing pad");
	ok(!is_one_rule(BYTES("\x44\x0e\x20\x9e\x01\x44\x11\x1e\x7f")),
	   "AArch64: a later instruction is not a landing pad");
}

/* The instructions of glibc's signal trampoline that matter: CFA, rbp, rsp, rip. */
#define RESTORE_RT                                                                                 \
	"\x0f\x04\x77\xa0\x01\x06"                                                                 \
	"\x10\x06\x03\x77\xf8\x00"                                                                 \
	"\x10\x07\x03\x77\xa0\x01"                                                                 \
	"\x10\x10\x03\x77\xa8\x01"

static void test_signal_x86(void)
{
	cfi_begin(&m);
	m.encoding = 0x1b;
	cfi_cie(&m, 1, "zRS", BYTES("\x1b"), 16, BYTES(X86_INITIAL));
	ok(rule_after(BYTES(RESTORE_RT)) == (PA_CFA_SIGNAL | PA_RULE_SIGNAL),
	   "signal: the kernel's signal frame");
	cfi_begin(&m);
	cfi_cie(&m, 1, "zRS", BYTES("\x1b"), 16, BYTES(X86_INITIAL));
	ok(rule_after(BYTES("\x0e\x10")) == (rule_reg(RSP, 16) | PA_RULE_SIGNAL),
	   "signal: a signal frame of another kind keeps its rule");
	for (unsigned int i = 0; i < 4; i++) {
		/* where each of the four is, in the offset's first byte */
		static const uint8_t at[] = { 3, 10, 16, 22 };
		char program[] = RESTORE_RT;

		program[at[i]] ^= 8;
		cfi_begin(&m);
		cfi_cie(&m, 1, "zRS", BYTES("\x1b"), 16, BYTES(X86_INITIAL));
		ok(PA_RULE_CFA_KIND(rule_after(program, sizeof(program) - 1)) == PA_CFA_USER,
		   "signal: with one of the four registers elsewhere it is not the kernel's");
	}
	ok(x86(BYTES(RESTORE_RT)) == PA_RULE_WORD_USER,
	   "signal: without the S it is not a signal frame");
}

/* On AArch64 the code decides, so there must be some. */
static pa_rule arm64_trampoline(uint32_t first, uint32_t second)
{
	uint32_t code[] = { 0xd503201f, first, second };
	struct elf_image *img;
	struct elf_maker e;
	struct compiled c = { 0 };
	const struct cfi *source;
	unsigned int section;
	pa_rule rule;

	cfi_begin(&m);
	m.encoding = 0x03;
	m.arch = &unwind_arch_arm64;
	cfi_cie(&m, 1, "zRS", BYTES("\x03"), 30, BYTES("\x0c\x1d\x00\x9d\x00\x9e\x7f"));
	cfi_fde(&m, CODE, sizeof(code), BYTES(""));
	maker_init(&e);
	e.ehdr.e_machine = EM_AARCH64;
	maker_segment(&e, PT_LOAD, PF_R | PF_X, CODE, maker_bytes(&e, code, sizeof(code)),
		      sizeof(code));
	section = maker_section(&e, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, m.bytes, m.len);
	e.shdrs[section].sh_addr = MAKER_ADDR;
	maker_end(&e);
	img = maker_open(&e);
	must(rule_dict_init(&c.dict) == 0 && cfi_open_eh_frame(img, &c.cfi) == 0);
	source = c.cfi;
	must(unwind_compile(&source, 1, &c.dict, &c.table) == 0);
	rule = rule_at(&c, CODE + 4);
	compiled_done(&c);
	elf_image_free(img);
	maker_done(&e);
	return rule;
}

static void test_signal_arm64(void)
{
	pa_rule other = arm64_trampoline(0xd2801168, 0xd65f03c0);

	ok(arm64_trampoline(0xd2801168, 0xd4000001) == (PA_CFA_SIGNAL | PA_RULE_SIGNAL),
	   "AArch64: the kernel's signal frame, by its code");
	ok(PA_RULE_CFA_KIND(other) == PA_CFA_REG && (other & PA_RULE_SIGNAL),
	   "AArch64: other code keeps its rule");
}

static void test_full_row(void)
{
	struct cfi_full_row row = { 0 };
	struct cfi *cfi;

	cfi_begin(&m);
	cfi_cie_x86(&m);
	cfi_fde(&m, CODE, 0x100,
		BYTES("\x44\x0e\x20\x83\x02\x09\x0c\x0d\x44\x0f\x03\x77\x10\x06\x16\x05\x02\x77"
		      "\x00"));
	cfi = cfi_maker_open(&m);
	ok(cfi_rules_at(cfi, CODE + 4, &row) == 0 && row.start == CODE + 4 && row.end == CODE + 8,
	   "full row: start and end");
	ok(row.fde_start == CODE && row.fde_end == CODE + 0x100, "full row: its function");
	ok(row.cfa.kind == CFI_CFA && row.cfa.reg == RSP && row.cfa.off == 32, "full row: CFA");
	ok(row.regs[3].kind == CFI_OFFSET && row.regs[3].off == -16, "full row: rbx is saved");
	ok(row.regs[12].kind == CFI_REGISTER && row.regs[12].reg == 13, "full row: r12 is in r13");
	ok(row.regs[16].kind == CFI_OFFSET && row.regs[16].off == -8 && row.ra_reg == 16,
	   "full row: the return address");
	ok(row.regs[6].kind == CFI_UNSET, "full row: no rule for rbp");
	ok(cfi_rules_at(cfi, CODE + 0xff, &row) == 0 && row.end == CODE + 0x100 &&
		   row.cfa.kind == CFI_VAL_EXPR && row.cfa.expr_len == 3 &&
		   memcmp(row.cfa.expr, "\x77\x10\x06", 3) == 0,
	   "full row: an expression comes with its bytes");
	ok(row.regs[5].kind == CFI_VAL_EXPR && row.regs[5].expr_len == 2,
	   "full row: expressions of registers");
	ok(cfi_rules_at(cfi, CODE + 0x100, &row) == -ENOENT, "full row: none after the function");
	ok(cfi_rules_at(cfi, CODE - 1, &row) == -ENOENT, "full row: none before it");
	cfi_free(cfi);
}

int main(void)
{
	test_cfa();
	test_expressions();
	test_plt();
	test_fp();
	test_ra();
	test_sp();
	test_state();
	test_locations();
	test_cie();
	test_bad_cies();
	test_debug_frame();
	test_arm64();
	test_landing_pad();
	test_signal_x86();
	test_signal_arm64();
	test_full_row();
	return tap_done();
}
