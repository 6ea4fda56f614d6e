/* SPDX-License-Identifier: Apache-2.0 */
/* Makes files with stubs: code, relocations of the words they jump by, and the symbols of those. */
#ifndef TESTS_UNIT_PLT_MAKER_H
#define TESTS_UNIT_PLT_MAKER_H

#include "elf_maker.h"

#define PLT_ADDR 0x1000ull
#define PLT_SLOTS 0x4000ull
#define PLT_MAX_RELOCS 64

struct plt_maker {
	struct elf_maker elf;
	struct sym_maker syms; /* of other files */
	Elf64_Rela relocs[PLT_MAX_RELOCS];
	size_t nr_relocs;
	uint8_t code[1024];
	size_t code_len;
};

__attribute__((unused)) static void plt_begin(struct plt_maker *p, uint16_t machine)
{
	memset(p, 0, sizeof(*p));
	maker_init(&p->elf);
	p->elf.ehdr.e_machine = machine;
}

static inline uint64_t plt_code(struct plt_maker *p, const void *bytes, size_t n)
{
	uint64_t at = PLT_ADDR + p->code_len;

	must(p->code_len + n <= sizeof(p->code));
	memcpy(p->code + p->code_len, bytes, n);
	p->code_len += n;
	return at;
}

/* jmp *slot(%rip) between what stands before and behind it; returns where all that begins. */
__attribute__((unused)) static uint64_t plt_x86(struct plt_maker *p, const char *before,
						size_t nr_before, uint64_t slot, const char *behind,
						size_t nr_behind)
{
	uint64_t at = plt_code(p, before, nr_before);
	int32_t to = (int32_t)(slot - (at + nr_before + 6));

	plt_code(p, "\xff\x25", 2);
	plt_code(p, &to, sizeof(to));
	plt_code(p, behind, nr_behind);
	return at;
}

/* adrp x16; ldr x17, [x16, …]: the code behind it says how it goes on. */
__attribute__((unused)) static uint64_t plt_arm64(struct plt_maker *p, bool has_pad, uint64_t slot,
						  const uint32_t *behind, size_t nr_behind)
{
	static const uint32_t pad = 0xd503245f;
	uint64_t at = plt_code(p, &pad, has_pad ? 4 : 0);
	uint64_t pages = slot / 4096 - (at + (has_pad ? 4 : 0)) / 4096;
	uint32_t insns[] = {
		0x90000010 | (uint32_t)(pages & 3) << 29 | (uint32_t)(pages >> 2 & 0x7ffff) << 5,
		0xf9400211 | (uint32_t)(slot % 4096 / 8) << 10,
	};

	plt_code(p, insns, sizeof(insns));
	plt_code(p, behind, nr_behind * sizeof(*behind));
	return at;
}

/* The relocation of a word, for a symbol of another file; without a name for a function of this. */
static inline void plt_slot(struct plt_maker *p, uint64_t slot, uint64_t type, const char *name,
			    int64_t addend)
{
	uint64_t i = 0;

	must(p->nr_relocs < PLT_MAX_RELOCS);
	if (name) {
		sym_add(&p->syms, name, 0, 0, STB_GLOBAL, STT_FUNC, SHN_UNDEF);
		i = p->syms.nr - 1;
	}
	p->relocs[p->nr_relocs++] = (Elf64_Rela){ .r_offset = slot,
						  .r_info = ELF64_R_INFO(i, type),
						  .r_addend = addend };
}

/* The section of all the code. */
__attribute__((unused)) static unsigned int plt_section(struct plt_maker *p, const char *name)
{
	unsigned int i = maker_section(&p->elf, name, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
				       p->code, p->code_len);

	p->elf.shdrs[i].sh_addr = PLT_ADDR;
	return i;
}

/* Returns the section of the relocations. */
__attribute__((unused)) static unsigned int plt_end(struct plt_maker *p)
{
	unsigned int dynsym = p->syms.nr ? sym_end(&p->syms, &p->elf, SHT_DYNSYM) : 0;
	unsigned int i = maker_section(&p->elf, ".rela.plt", SHT_RELA, SHF_ALLOC, p->relocs,
				       p->nr_relocs * sizeof(*p->relocs));

	p->elf.shdrs[i].sh_link = dynsym;
	maker_end(&p->elf);
	return i;
}

#endif
