/* SPDX-License-Identifier: Apache-2.0 */
/* Names of stubs; tests/oracle/plt_names.py asks the same of files that linkers have made. */
#include "plt_maker.h"
#include "symbolize/symbolizer.h"
#include "symbolize/symbolizer_elf.h"

#define STR(s) (s), sizeof(s) - 1
#define LAZY "\x68\0\0\0\0\xe9\0\0\0\0"
#define PAD "\xf3\x0f\x1e\xfa"
#define SLOT(i) (PLT_SLOTS + 8ull * (i))

static const uint32_t plain[] = { 0x91000210, 0xd61f0220 }; /* add, br */
static const uint32_t checked[] = { 0x91000210, 0xd503219f, 0xd61f0220,
				    0xd503201f }; /* autia1716 */
static const uint32_t padded[] = { 0x91000210, 0xd61f0220, 0xd503201f };

/* -: no name. */
static bool is_at(struct symbolizer *s, uint64_t addr, const char *name)
{
	struct symbol_result r;
	bool is_it;

	must(s->ops->resolve(s, addr, &r) == 0);
	is_it = strcmp(r.is_named ? r.frames[0].name : "-", name) == 0;
	if (!is_it)
		printf("# 0x%llx is %s, not %s\n", (unsigned long long)addr, r.frames[0].name,
		       name);
	return is_it;
}

struct expected {
	uint64_t addr;
	size_t bytes;
	const char *name;
};

static bool are(struct plt_maker *p, const struct expected *all, size_t nr)
{
	struct elf_image *img = maker_open(&p->elf);
	struct symbolizer *s;
	bool are_they = true;

	must(symbolizer_new_elf(&(struct elf_sources){ .image = img, .label = "file" }, &s) == 0);
	for (size_t i = 0; i < nr; i++) {
		are_they &= is_at(s, all[i].addr, all[i].name);
		are_they &= is_at(s, all[i].addr + all[i].bytes - 1, all[i].name);
	}
	symbolizer_free(s);
	elf_image_free(img);
	maker_done(&p->elf);
	return are_they;
}

#define ARE(p, ...)                                                                                \
	are(p, (struct expected[]){ __VA_ARGS__ },                                                 \
	    sizeof((struct expected[]){ __VA_ARGS__ }) / sizeof(struct expected))

static void test_x86(struct plt_maker *p)
{
	uint64_t at[8];

	plt_begin(p, EM_X86_64);
	at[0] = plt_x86(p, STR("\xff\x35\x02\0\0\0"), SLOT(2), STR("\x0f\x1f\x40\0"));
	at[1] = plt_x86(p, STR(""), SLOT(3), STR(LAZY));
	at[2] = plt_x86(p, STR(""), SLOT(4), STR("\x66\x90"));
	at[3] = plt_x86(p, STR("\xf2"), SLOT(5), STR("\x90"));
	at[4] = plt_x86(p, STR(PAD), SLOT(6), STR("\x66\x0f\x1f\x44\0\0"));
	at[5] = plt_x86(p, STR(PAD "\xf2"), SLOT(7), STR("\x0f\x1f\x44\0\0"));
	at[6] = plt_x86(p, STR(PAD "\x41\xbb\0\0\0\0"), SLOT(8), STR(""));
	at[7] = plt_x86(p, STR(""), SLOT(9), STR("\x66\x90"));
	plt_slot(p, SLOT(9), R_X86_64_IRELATIVE, NULL, 0xabc0); /* in no order */
	plt_slot(p, SLOT(3), R_X86_64_JUMP_SLOT, "lazy", 0);
	plt_slot(p, SLOT(4), R_X86_64_GLOB_DAT, "bound", 0);
	plt_slot(p, SLOT(5), R_X86_64_JUMP_SLOT, "bnd", 0);
	plt_slot(p, SLOT(6), R_X86_64_JUMP_SLOT, "pad", 0);
	plt_slot(p, SLOT(7), R_X86_64_JUMP_SLOT, "pad_bnd", 0);
	plt_slot(p, SLOT(8), R_X86_64_JUMP_SLOT, "_ZN1n8readableEv", 0);
	sym_add(&p->syms, "chosen", 0xabc0, 8, STB_GLOBAL, STT_GNU_IFUNC, plt_section(p, ".plt"));
	plt_end(p);
	ok(ARE(p, { at[0], 16, "-" }, { at[1], 16, "lazy@plt" }, { at[2], 8, "bound@plt" },
	       { at[3], 8, "bnd@plt" }, { at[4], 16, "pad@plt" }, { at[5], 16, "pad_bnd@plt" },
	       { at[6], 16, "n::readable()@plt" }, { at[7], 8, "chosen@plt" },
	       { at[7] + 8, 1, "-" }),
	   "x86-64: every kind of stub, but not the PLT header");
}

static void test_arm64(struct plt_maker *p)
{
	uint64_t at[5], below = 0x10; /* the code: the page is counted backwards */

	plt_begin(p, EM_AARCH64);
	at[0] = plt_code(p, "\xf0\x7b\xbf\xa9", 4);
	plt_arm64(p, false, SLOT(2), plain, 2);
	plt_code(p, (uint32_t[]){ 0xd503201f, 0xd503201f, 0xd503201f }, 12);
	at[1] = plt_arm64(p, false, SLOT(3), plain, 2);
	at[2] = plt_arm64(p, true, SLOT(4), padded, 3);
	at[3] = plt_arm64(p, false, SLOT(5), checked, 4);
	at[4] = plt_arm64(p, false, below, plain, 2);
	plt_slot(p, SLOT(3), R_AARCH64_JUMP_SLOT, "short", 0);
	plt_slot(p, SLOT(4), R_AARCH64_GLOB_DAT, "pad", 0);
	plt_slot(p, SLOT(5), R_AARCH64_JUMP_SLOT, "checked", 0);
	plt_slot(p, below, R_AARCH64_IRELATIVE, NULL, 0x77);
	sym_add(&p->syms, "_Z1fi", 0x77, 8, STB_GLOBAL, STT_GNU_IFUNC, plt_section(p, ".plt"));
	plt_end(p);
	ok(ARE(p, { at[0], 32, "-" }, { at[1], 16, "short@plt" }, { at[2], 24, "pad@plt" },
	       { at[3], 24, "checked@plt" }, { at[4], 16, "f(int)@plt" }),
	   "AArch64: likewise");
}

/* One short stub, and what is wrong with it. */
static uint64_t one(struct plt_maker *p, uint64_t type, const char *name)
{
	uint64_t at;

	plt_begin(p, EM_X86_64);
	at = plt_x86(p, STR(""), SLOT(3), STR("\x66\x90"));
	plt_slot(p, SLOT(3), type, name, 0);
	return at;
}

/* Stubs for functions that are chosen when the program is loaded. */
static void test_chosen(struct plt_maker *p)
{
	uint64_t at[2];
	unsigned int section;

	plt_begin(p, EM_X86_64);
	for (size_t i = 0; i < 2; i++) {
		at[i] = plt_x86(p, STR(""), SLOT(3 + i), STR("\x66\x90"));
		plt_slot(p, SLOT(3 + i), R_X86_64_IRELATIVE, NULL, 0xa000 + 0x100 * (int64_t)i);
	}
	section = plt_section(p, ".plt");
	sym_add(&p->syms, "resolve_f", 0xa000, 8, STB_LOCAL, STT_FUNC, section);
	sym_add(&p->syms, "f", 0xa000, 8, STB_GLOBAL, STT_GNU_IFUNC, section);
	sym_add(&p->syms, "before", 0xa0f8, 8, STB_GLOBAL, STT_FUNC, section);
	plt_end(p);
	ok(ARE(p, { at[0], 8, "f@plt" }, { at[1], 8, "-" }),
	   "an IRELATIVE stub has the name of its resolver, if it has one");
}

static void test_names(struct plt_maker *p)
{
	uint64_t at = one(p, R_X86_64_JUMP_SLOT, "f@V1");

	plt_section(p, ".plt.got");
	plt_end(p);
	ok(ARE(p, { at, 8, "f@plt" }), "a version is removed before the suffix");
	at = one(p, R_X86_64_JUMP_SLOT, "");
	plt_section(p, ".plt");
	plt_end(p);
	ok(ARE(p, { at, 8, "-" }), "a symbol without a name names nothing");
	at = one(p, R_X86_64_64, "f");
	plt_section(p, ".plt");
	plt_end(p);
	ok(ARE(p, { at, 8, "-" }), "slots that are not for stubs name nothing");
	at = one(p, R_X86_64_JUMP_SLOT, "f");
	sym_add(&p->syms, "own", at, 4, STB_GLOBAL, STT_FUNC, plt_section(p, ".plt"));
	plt_end(p);
	ok(ARE(p, { at, 4, "own" }, { at + 4, 4, "f@plt" }), "a symbol of the code comes first");
}

static void test_hostile(struct plt_maker *p)
{
	uint64_t at;
	unsigned int i;

	/* Behind the symbols stand the relocations: this one would be a symbol by the name of "f". */
	plt_begin(p, EM_X86_64);
	at = plt_x86(p, STR(""), 1, STR("\x66\x90"));
	plt_slot(p, 1, R_X86_64_JUMP_SLOT, "f", 0);
	p->relocs[0].r_info = ELF64_R_INFO(p->syms.nr, R_X86_64_JUMP_SLOT);
	plt_section(p, ".plt");
	plt_end(p);
	ok(ARE(p, { at, 8, "-" }), "a relocation with a missing symbol names nothing");
	at = one(p, R_X86_64_JUMP_SLOT, "f");
	i = plt_section(p, ".plt");
	p->elf.shdrs[i].sh_size = UINT64_MAX;
	plt_end(p);
	ok(ARE(p, { at, 8, "-" }), "stubs beyond the end of the file");
	at = one(p, R_X86_64_JUMP_SLOT, "f");
	i = plt_section(p, ".plt");
	p->elf.shdrs[i].sh_size = 5;
	plt_end(p);
	ok(ARE(p, { at, 1, "-" }), "half a stub");
	at = one(p, R_X86_64_JUMP_SLOT, "f");
	i = plt_section(p, ".plt");
	p->elf.shdrs[i].sh_type = SHT_NOBITS;
	plt_end(p);
	ok(ARE(p, { at, 8, "-" }), "stubs that are not in the file");
	at = one(p, R_X86_64_JUMP_SLOT, "f");
	plt_section(p, ".plt");
	maker_shdr(&p->elf, plt_end(p))->sh_size = UINT64_MAX;
	ok(ARE(p, { at, 8, "-" }), "relocations beyond the end of the file");
	at = one(p, R_X86_64_JUMP_SLOT, "f");
	plt_section(p, ".plt");
	i = plt_end(p);
	maker_shdr(&p->elf, i - 1)->sh_link = i; /* of .dynsym */
	ok(ARE(p, { at, 8, "-" }), "symbols whose names are elsewhere");
}

int main(void)
{
	struct plt_maker *p = malloc(sizeof(*p));

	must(p);
	test_x86(p);
	test_arm64(p);
	test_chosen(p);
	test_names(p);
	test_hostile(p);
	free(p);
	return tap_done();
}
