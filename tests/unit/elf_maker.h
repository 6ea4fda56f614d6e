/* SPDX-License-Identifier: Apache-2.0 */
/* Makes small ELF files in memory, right or wrong as a test wants them. */
#ifndef TESTS_UNIT_ELF_MAKER_H
#define TESTS_UNIT_ELF_MAKER_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "elf/elf_image.h"
#include "tap.h"

#define MAKER_MAX_BYTES (512u << 10)
#define MAKER_MAX_PHDRS 8
#define MAKER_MAX_SECTIONS 16

struct elf_maker {
	uint8_t *bytes; /* owned */
	size_t len;
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdrs[MAKER_MAX_PHDRS];
	Elf64_Shdr shdrs[MAKER_MAX_SECTIONS]; /* 0 stays empty */
	unsigned int nr_phdrs, nr_shdrs;
	char names[512]; /* of sections */
	size_t names_len;
};

/* Room for the headers comes first; finish with maker_end(). */
__attribute__((unused)) static void maker_init(struct elf_maker *m)
{
	memset(m, 0, sizeof(*m));
	m->bytes = calloc(1, MAKER_MAX_BYTES);
	must(m->bytes);
	m->len = sizeof(m->ehdr) + sizeof(m->phdrs);
	memcpy(m->ehdr.e_ident, ELFMAG, SELFMAG);
	m->ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	m->ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	m->ehdr.e_ident[EI_VERSION] = EV_CURRENT;
	m->ehdr.e_type = ET_DYN;
	m->ehdr.e_machine = EM_X86_64;
	m->ehdr.e_entry = 0x1234;
	m->ehdr.e_phentsize = sizeof(Elf64_Phdr);
	m->ehdr.e_shentsize = sizeof(Elf64_Shdr);
	m->nr_shdrs = 1;
	m->names_len = 1;
}

/* Appends bytes; returns where they stand. */
__attribute__((unused)) static uint64_t maker_bytes(struct elf_maker *m, const void *bytes,
						    size_t n)
{
	uint64_t at = (m->len + 7) & ~7ull;

	must(at + n <= MAKER_MAX_BYTES);
	if (n)
		memcpy(m->bytes + at, bytes, n);
	m->len = at + n;
	return at;
}

__attribute__((unused)) static Elf64_Phdr *maker_segment(struct elf_maker *m, uint32_t type,
							 uint32_t flags, uint64_t vaddr,
							 uint64_t offset, uint64_t size)
{
	Elf64_Phdr *p = &m->phdrs[m->nr_phdrs++];

	must(m->nr_phdrs <= MAKER_MAX_PHDRS);
	*p = (Elf64_Phdr){ .p_type = type,
			   .p_flags = flags,
			   .p_vaddr = vaddr,
			   .p_offset = offset,
			   .p_filesz = size,
			   .p_memsz = size,
			   .p_align = 4 };
	return p;
}

/* Returns the section's index. */
__attribute__((unused)) static unsigned int maker_section(struct elf_maker *m, const char *name,
							  uint32_t type, uint64_t flags,
							  const void *bytes, size_t n)
{
	unsigned int i = m->nr_shdrs++;

	must(i < MAKER_MAX_SECTIONS && m->names_len + strlen(name) < sizeof(m->names));
	m->shdrs[i] = (Elf64_Shdr){ .sh_name = (uint32_t)m->names_len,
				    .sh_type = type,
				    .sh_flags = flags,
				    .sh_offset = maker_bytes(m, bytes, n),
				    .sh_size = n };
	memcpy(m->names + m->names_len, name, strlen(name) + 1);
	m->names_len += strlen(name) + 1;
	return i;
}

/* Section names, section table, headers. After it the fields of the header no longer count. */
__attribute__((unused)) static void maker_end(struct elf_maker *m)
{
	unsigned int names = maker_section(m, ".shstrtab", SHT_STRTAB, 0, NULL, 0);

	m->shdrs[names].sh_offset = maker_bytes(m, m->names, m->names_len);
	m->shdrs[names].sh_size = m->names_len;
	m->ehdr.e_shoff = maker_bytes(m, m->shdrs, m->nr_shdrs * sizeof(*m->shdrs));
	m->ehdr.e_shnum = (uint16_t)m->nr_shdrs;
	m->ehdr.e_shstrndx = (uint16_t)names;
	m->ehdr.e_phoff = sizeof(m->ehdr);
	m->ehdr.e_phnum = (uint16_t)m->nr_phdrs;
	memcpy(m->bytes, &m->ehdr, sizeof(m->ehdr));
	memcpy(m->bytes + sizeof(m->ehdr), m->phdrs, sizeof(m->phdrs));
}

/* For tests that spoil a finished file. */
__attribute__((unused)) static Elf64_Ehdr *maker_ehdr(struct elf_maker *m)
{
	return (Elf64_Ehdr *)m->bytes;
}

__attribute__((unused)) static Elf64_Shdr *maker_shdr(struct elf_maker *m, unsigned int i)
{
	return (Elf64_Shdr *)(m->bytes + m->ehdr.e_shoff) + i;
}

__attribute__((unused)) static struct elf_image *maker_open(struct elf_maker *m)
{
	struct elf_image *img = NULL;

	must(elf_image_open_mem(m->bytes, m->len, &img) == 0);
	return img;
}

__attribute__((unused)) static void maker_done(struct elf_maker *m)
{
	free(m->bytes);
}

/* A symbol table under construction. */
struct sym_maker {
	Elf64_Sym syms[16384];
	char names[65536];
	size_t nr, names_len;
};

__attribute__((unused)) static void sym_add(struct sym_maker *s, const char *name, uint64_t addr,
					    uint64_t size, int bind, int type, uint16_t section)
{
	must(s->nr < 16383 && s->names_len + strlen(name) + 2 < sizeof(s->names));
	if (s->nr == 0)
		s->nr = s->names_len = 1;
	s->syms[s->nr++] = (Elf64_Sym){ .st_name = (uint32_t)s->names_len,
					.st_info = ELF64_ST_INFO(bind, type),
					.st_shndx = section,
					.st_value = addr,
					.st_size = size };
	memcpy(s->names + s->names_len, name, strlen(name) + 1);
	s->names_len += strlen(name) + 1;
}

/* Returns the index of the table; its strings are the section before. */
__attribute__((unused)) static unsigned int sym_end(struct sym_maker *s, struct elf_maker *m,
						    uint32_t type)
{
	unsigned int names, table;

	names = maker_section(m, type == SHT_SYMTAB ? ".strtab" : ".dynstr", SHT_STRTAB, 0,
			      s->names, s->names_len);
	table = maker_section(m, type == SHT_SYMTAB ? ".symtab" : ".dynsym", type, 0, s->syms,
			      s->nr * sizeof(*s->syms));
	m->shdrs[table].sh_link = names;
	m->shdrs[table].sh_entsize = sizeof(Elf64_Sym);
	return table;
}

#endif
