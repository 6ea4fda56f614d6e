/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A string table that is read piece by piece on demand, so that the size a file claims for its
 * names costs no memory. For uncompressed sections.
 */
#ifndef ELF_ELF_STRINGS_H
#define ELF_ELF_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#define ELF_MAX_STRING_BYTES 16384 /* longer strings are truncated */

struct elf_image;
struct elf_section;

struct elf_strings {
	const struct elf_image *img; /* borrowed until elf_strings_done() */
	uint64_t offset, size;       /* position of the table in the file */
	char *lines;                 /* owned; piece i of the file is cached in line i % nr_lines */
	uint64_t *pieces;            /* owned; number of the piece in each line plus 1, 0: none */
	size_t nr_lines;
	char text[ELF_MAX_STRING_BYTES + 1]; /* the string returned last */
};

/* -EBADMSG: outside the file, or compressed; -ENOMEM. */
int elf_strings_init(struct elf_strings *s, const struct elf_image *img,
		     const struct elf_section *section);
void elf_strings_done(struct elf_strings *s);

/* The string at an offset, valid until the next call. NULL: outside the table, unterminated, or
 * unreadable. */
const char *elf_strings_get(struct elf_strings *s, uint64_t offset);

#endif
