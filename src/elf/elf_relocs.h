/* SPDX-License-Identifier: Apache-2.0 */
/* The relocations that the loader applies to an image: what a file's words are to become. */
#ifndef ELF_ELF_RELOCS_H
#define ELF_ELF_RELOCS_H

#include <elf.h>

struct elf_image;

#define ELF_MAX_RELOCS (4u << 20) /* of a file that are looked at */

typedef int (*elf_reloc_fn)(void *ctx, const Elf64_Rela *rela);

/*
 * Calls fn for every relocation of the sections that are loaded and have addends, in their order. A
 * section that is damaged is left at that place. Ends early with fn's result when that is not 0;
 * -E2BIG: too many, fn has seen the first ones.
 */
int elf_relocs_each(const struct elf_image *img, elf_reloc_fn fn, void *ctx);

#endif
