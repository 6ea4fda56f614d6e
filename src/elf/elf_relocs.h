/* SPDX-License-Identifier: Apache-2.0 */
/* The relocations that the loader applies to an image. */
#ifndef ELF_ELF_RELOCS_H
#define ELF_ELF_RELOCS_H

#include <elf.h>

struct elf_image;

#define ELF_MAX_RELOCS (4u << 20) /* limit per file */

typedef int (*elf_reloc_fn)(void *ctx, const Elf64_Rela *rela);

/*
 * Calls fn for every relocation in loaded sections with addends, in order. A malformed section is
 * abandoned at that point. Stops early with fn's result if that is not 0; -E2BIG: too many, fn has
 * seen the first ones.
 */
int elf_relocs_each(const struct elf_image *img, elf_reloc_fn fn, void *ctx);

#endif
