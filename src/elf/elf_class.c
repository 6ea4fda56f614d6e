/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/elf_class.h"

#include <string.h>

#include "elf/elf_internal.h"

static const struct elf_class_sizes sizes_32 = { sizeof(Elf32_Ehdr), sizeof(Elf32_Phdr),
						 sizeof(Elf32_Shdr), sizeof(Elf32_Sym),
						 sizeof(Elf32_Chdr) };
static const struct elf_class_sizes sizes_64 = { sizeof(Elf64_Ehdr), sizeof(Elf64_Phdr),
						 sizeof(Elf64_Shdr), sizeof(Elf64_Sym),
						 sizeof(Elf64_Chdr) };

const struct elf_class_sizes *elf_class_sizes(const struct elf_image *img)
{
	return img->is_32 ? &sizes_32 : &sizes_64;
}

/* Converts one 32-bit entry to its 64-bit form. */
typedef void (*widen_fn)(const void *from, void *to);

static void widen_ehdr(const void *from, void *to)
{
	Elf32_Ehdr h;
	Elf64_Ehdr wide = { 0 };

	memcpy(&h, from, sizeof(h));
	memcpy(wide.e_ident, h.e_ident, sizeof(wide.e_ident));
	wide.e_type = h.e_type;
	wide.e_machine = h.e_machine;
	wide.e_version = h.e_version;
	wide.e_entry = h.e_entry;
	wide.e_phoff = h.e_phoff;
	wide.e_shoff = h.e_shoff;
	wide.e_flags = h.e_flags;
	wide.e_ehsize = h.e_ehsize;
	wide.e_phentsize = h.e_phentsize;
	wide.e_phnum = h.e_phnum;
	wide.e_shentsize = h.e_shentsize;
	wide.e_shnum = h.e_shnum;
	wide.e_shstrndx = h.e_shstrndx;
	memcpy(to, &wide, sizeof(wide));
}

static void widen_phdr(const void *from, void *to)
{
	Elf32_Phdr p;
	Elf64_Phdr wide;

	memcpy(&p, from, sizeof(p));
	wide = (Elf64_Phdr){ .p_type = p.p_type,
			     .p_flags = p.p_flags,
			     .p_offset = p.p_offset,
			     .p_vaddr = p.p_vaddr,
			     .p_paddr = p.p_paddr,
			     .p_filesz = p.p_filesz,
			     .p_memsz = p.p_memsz,
			     .p_align = p.p_align };
	memcpy(to, &wide, sizeof(wide));
}

static void widen_shdr(const void *from, void *to)
{
	Elf32_Shdr s;
	Elf64_Shdr wide;

	memcpy(&s, from, sizeof(s));
	wide = (Elf64_Shdr){ .sh_name = s.sh_name,
			     .sh_type = s.sh_type,
			     .sh_flags = s.sh_flags,
			     .sh_addr = s.sh_addr,
			     .sh_offset = s.sh_offset,
			     .sh_size = s.sh_size,
			     .sh_link = s.sh_link,
			     .sh_info = s.sh_info,
			     .sh_addralign = s.sh_addralign,
			     .sh_entsize = s.sh_entsize };
	memcpy(to, &wide, sizeof(wide));
}

static void widen_sym(const void *from, void *to)
{
	Elf32_Sym s;
	Elf64_Sym wide;

	memcpy(&s, from, sizeof(s));
	wide = (Elf64_Sym){ .st_name = s.st_name,
			    .st_info = s.st_info,
			    .st_other = s.st_other,
			    .st_shndx = s.st_shndx,
			    .st_value = s.st_value,
			    .st_size = s.st_size };
	memcpy(to, &wide, sizeof(wide));
}

static void widen_chdr(const void *from, void *to)
{
	Elf32_Chdr c;
	Elf64_Chdr wide;

	memcpy(&c, from, sizeof(c));
	wide = (Elf64_Chdr){ .ch_type = c.ch_type,
			     .ch_size = c.ch_size,
			     .ch_addralign = c.ch_addralign };
	memcpy(to, &wide, sizeof(wide));
}

/* Entries of a 32-bit file are read to the end of the buffer and widened from the first on: a
 * widened entry never overlaps the next one to be read. */
static int read_entries(const struct elf_image *img, uint64_t offset, void *to, size_t nr,
			size_t wide_bytes, size_t file_bytes, widen_fn widen)
{
	char *from = (char *)to + nr * (wide_bytes - file_bytes);
	int r = elf_image_read(img, offset, from, nr * file_bytes);

	for (size_t i = 0; r == 0 && img->is_32 && i < nr; i++)
		widen(from + i * file_bytes, (char *)to + i * wide_bytes);
	return r;
}

int elf_class_read_ehdr(const struct elf_image *img, Elf64_Ehdr *to)
{
	return read_entries(img, 0, to, 1, sizeof(*to), elf_class_sizes(img)->ehdr, widen_ehdr);
}

int elf_class_read_phdrs(const struct elf_image *img, uint64_t offset, Elf64_Phdr *to, size_t nr)
{
	return read_entries(img, offset, to, nr, sizeof(*to), elf_class_sizes(img)->phdr,
			    widen_phdr);
}

int elf_class_read_shdrs(const struct elf_image *img, uint64_t offset, Elf64_Shdr *to, size_t nr)
{
	return read_entries(img, offset, to, nr, sizeof(*to), elf_class_sizes(img)->shdr,
			    widen_shdr);
}

int elf_class_read_syms(const struct elf_image *img, uint64_t offset, Elf64_Sym *to, size_t nr)
{
	return read_entries(img, offset, to, nr, sizeof(*to), elf_class_sizes(img)->sym, widen_sym);
}

int elf_class_read_chdr(const struct elf_image *img, uint64_t offset, Elf64_Chdr *to)
{
	return read_entries(img, offset, to, 1, sizeof(*to), elf_class_sizes(img)->chdr,
			    widen_chdr);
}
