/* SPDX-License-Identifier: Apache-2.0 */
/* The function symbols of an image, out of .symtab and .dynsym. */
#ifndef ELF_ELF_SYMBOLS_H
#define ELF_ELF_SYMBOLS_H

#include <stdint.h>

struct elf_image;

#define ELF_MAX_SYMBOLS (32u << 20)

struct elf_symbol {
	uint64_t addr; /* link-time address */
	uint64_t size; /* 0: the file does not say */
	/* Bytes from addr to the end of the code section that it lies in; 0: in none. How far a symbol
	 * without a size can reach. */
	uint64_t section_bytes;
	const char *name; /* valid during the call only; NUL-terminated, not empty, cut at 16 KiB */
	uint8_t bind;     /* STB_* */
	uint8_t type;     /* STT_FUNC, STT_GNU_IFUNC, or STT_NOTYPE in an executable section */
};

typedef int (*elf_symbol_fn)(void *ctx, const struct elf_symbol *sym);

/*
 * Calls fn for every defined code symbol of .symtab and then of .dynsym; a symbol that stands in
 * both is seen twice. Mapping symbols of AArch64 ($x, $d) are left out. Entries with a broken name
 * are skipped. Ends early with fn's result when that is not 0. -ENOENT: neither table is there.
 * -EBADMSG, after every symbol that could be read: a table is damaged, compressed or too large.
 */
int elf_symbols_each(const struct elf_image *img, elf_symbol_fn fn, void *ctx);

#endif
