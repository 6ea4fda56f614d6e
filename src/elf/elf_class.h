/* SPDX-License-Identifier: Apache-2.0 */
/* Headers and tables of both ELF classes as 64-bit structs: entries of 32-bit files are widened
 * while they are read, so that no other code handles both classes. */
#ifndef ELF_ELF_CLASS_H
#define ELF_ELF_CLASS_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

struct elf_image;

/* Size of one entry in the file. */
struct elf_class_sizes {
	size_t ehdr, phdr, shdr, sym, chdr;
};
const struct elf_class_sizes *elf_class_sizes(const struct elf_image *img);

/* nr entries at a file offset. A short read is -EBADMSG; other errors as in elf_image_read(). */
int elf_class_read_ehdr(const struct elf_image *img, Elf64_Ehdr *to);
int elf_class_read_phdrs(const struct elf_image *img, uint64_t offset, Elf64_Phdr *to, size_t nr);
int elf_class_read_shdrs(const struct elf_image *img, uint64_t offset, Elf64_Shdr *to, size_t nr);
int elf_class_read_syms(const struct elf_image *img, uint64_t offset, Elf64_Sym *to, size_t nr);
int elf_class_read_chdr(const struct elf_image *img, uint64_t offset, Elf64_Chdr *to);

#endif
