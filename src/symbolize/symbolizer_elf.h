/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols, lines and inline chains of the code in a file. */
#ifndef SYMBOLIZE_SYMBOLIZER_ELF_H
#define SYMBOLIZE_SYMBOLIZER_ELF_H

#include "symbolize/symbolizer.h"

struct elf_image;

/* The files that describe one piece of code. All are borrowed until the symbolizer is freed. */
struct elf_sources {
	const struct elf_image *image; /* the code itself */
	const struct elf_image *debug; /* its separate debug file; NULL: none */
	/* The target of .gnu_debugaltlink (dwz) of debug, or of image, with a matching build-id;
	 * NULL: none. */
	const struct elf_image *alt;
	bool has_split_files; /* resolve() may ask for .dwo and .dwp files by -EAGAIN */
	/* When requested, debug information is not read to its end. NULL: never. */
	const struct cancel *cancel;
	uint64_t max_cpu_ns;    /* for debug information; 0: the default limit */
	uint64_t *lines_cpu_ns; /* CPU time used for lines is added here; NULL: not needed */
	const char *label;      /* the part before "+0x…": the file's base name; copied */
};

/* Names, lines and inline chains from DWARF; otherwise names from .symtab, .dynsym, .gnu_debugdata
 * and the FDEs. */
int symbolizer_new_elf(const struct elf_sources *src, struct symbolizer **ret_symbolizer);

/* After -EAGAIN: see dwarf_needed_path() and dwarf_supply(). */
const char *symbolizer_elf_needed_path(const struct symbolizer *s);
void symbolizer_elf_supply(struct symbolizer *s, int fd);

/* An estimate of the memory that the symbolizer may need. */
uint64_t symbolizer_elf_cost_bytes(const struct elf_sources *src);

#endif
