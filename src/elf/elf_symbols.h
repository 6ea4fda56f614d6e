/* SPDX-License-Identifier: Apache-2.0 */
/* The function symbols of an image, from .symtab and .dynsym. */
#ifndef ELF_ELF_SYMBOLS_H
#define ELF_ELF_SYMBOLS_H

#include <stdint.h>

struct elf_image;

#define ELF_MAX_SYMBOLS (32u << 20)

struct elf_symbol {
	uint64_t addr; /* link-time address */
	uint64_t size; /* 0: not given */
	/* Bytes from addr to the end of its code section; 0: it is in none. Limits the extent of a
	 * symbol without a size. */
	uint64_t section_bytes;
	const char *name; /* valid during the call; not empty, truncated at 16 KiB */
	uint8_t bind;     /* STB_* */
	uint8_t type;     /* STT_FUNC, STT_GNU_IFUNC, or STT_NOTYPE in an executable section */
};

typedef int (*elf_symbol_fn)(void *ctx, const struct elf_symbol *sym);

/*
 * Calls fn for every defined code symbol of .symtab and then of .dynsym; a symbol in both is
 * reported twice. Mapping symbols of AArch64 ($x, $d) are left out. Entries with an invalid name
 * are skipped. Stops early with fn's result if that is not 0. -ENOENT: there is neither table.
 * -EBADMSG, after all readable symbols: a table is malformed, compressed or too large.
 */
int elf_symbols_each(const struct elf_image *img, elf_symbol_fn fn, void *ctx);

#endif
