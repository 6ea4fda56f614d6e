/* SPDX-License-Identifier: Apache-2.0 */
/* The stubs of AArch64, which are known by their section and their first instructions. */
#include "cfi_maker.h"
#include "elf_maker.h"
#include "unwind/known_code.h"

#define TEXT_BYTES 0x1000u
#define STUBS (CODE + 0x400)
#define STUBS_BYTES 0x100u

#define BTI "\x5f\x24\x03\xd5"
#define PUSH "\xf0\x7b\xbf\xa9"
#define ADRP "\xf0\x00\x00\xf0"
#define LR ((pa_rule)PA_RA_LR << PA_RULE_RA_SHIFT)
#define STUB (rule_reg(31, 0) | LR)
#define PUSHED (rule_reg(31, 16) | LR)

static struct compiled compile(uint16_t machine, const char *name, uint32_t type, const void *insns,
			       size_t n)
{
	uint8_t text[TEXT_BYTES] = { 0 };
	struct compiled c = { 0 };
	struct known_code known;
	struct elf_image *img;
	unsigned int section;
	struct elf_maker e;
	uint64_t at;

	memcpy(text + (STUBS - CODE), insns, n);
	maker_init(&e);
	e.ehdr.e_machine = machine;
	at = maker_bytes(&e, text, sizeof(text));
	maker_segment(&e, PT_LOAD, PF_R | PF_X, CODE, at, sizeof(text));
	section = maker_section(&e, name, type, SHF_ALLOC | SHF_EXECINSTR, NULL, 0);
	e.shdrs[section].sh_offset = at + (STUBS - CODE);
	e.shdrs[section].sh_addr = STUBS;
	e.shdrs[section].sh_size = STUBS_BYTES;
	maker_end(&e);
	img = maker_open(&e);
	must(known_code_find(img, &known) == 0 && rule_dict_init(&c.dict) == 0);
	must(unwind_compile_known(NULL, 0, &known, &c.dict, &c.table) == 0);
	known_code_done(&known);
	elf_image_free(img);
	maker_done(&e);
	return c;
}

/* The head of the table: not pushed, pushed from an offset on; then the stubs. */
static bool is_table(struct compiled c, uint64_t pushed)
{
	bool is_it = rule_at(&c, STUBS) == STUB && rule_at(&c, STUBS + pushed - 1) == STUB &&
		     rule_at(&c, STUBS + pushed) == PUSHED && rule_at(&c, STUBS + 31) == PUSHED &&
		     rule_at(&c, STUBS + 32) == STUB &&
		     rule_at(&c, STUBS + STUBS_BYTES - 1) == STUB &&
		     rule_at(&c, STUBS - 1) == PA_RULE_WORD_NONE &&
		     rule_at(&c, STUBS + STUBS_BYTES) == PA_RULE_WORD_NONE;

	compiled_done(&c);
	return is_it;
}

static bool is_all(struct compiled c, pa_rule rule)
{
	bool is_it = rule_at(&c, STUBS) == rule && rule_at(&c, STUBS + 5) == rule &&
		     rule_at(&c, STUBS + STUBS_BYTES - 1) == rule;

	compiled_done(&c);
	return is_it;
}

int main(void)
{
	ok(is_table(compile(EM_AARCH64, ".plt", SHT_PROGBITS, BYTES(PUSH ADRP)), 4),
	   "the PLT header pushes, stubs do not");
	ok(is_table(compile(EM_AARCH64, ".plt", SHT_PROGBITS, BYTES(BTI PUSH)), 8),
	   "stubs with a landing pad");
	ok(is_all(compile(EM_AARCH64, ".plt", SHT_PROGBITS, BYTES(ADRP ADRP)), STUB),
	   "a PLT without a header, in a static program");
	ok(is_all(compile(EM_AARCH64, ".iplt", SHT_PROGBITS, BYTES(BTI ADRP)), STUB),
	   "a PLT under its other name");
	ok(is_all(compile(EM_AARCH64, ".plt", SHT_PROGBITS, PUSH + 1, 3), PA_RULE_WORD_NONE),
	   "other instructions are not recognized");
	ok(is_all(compile(EM_AARCH64, ".plt", SHT_NOBITS, BYTES(PUSH ADRP)), PA_RULE_WORD_NONE),
	   "a PLT that is not in the file is not recognized");
	ok(is_all(compile(EM_AARCH64, ".text", SHT_PROGBITS, BYTES(PUSH ADRP)), PA_RULE_WORD_NONE),
	   "other sections are not recognized");
	ok(is_all(compile(EM_X86_64, ".plt", SHT_PROGBITS, BYTES(PUSH ADRP)), PA_RULE_WORD_NONE),
	   "a PLT of another machine is not recognized");
	return tap_done();
}
