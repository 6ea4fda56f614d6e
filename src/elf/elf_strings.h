/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A string table read piece by piece, as its strings are asked for: what a file may claim to have
 * in names does not cost memory. For sections that are stored as they are.
 */
#ifndef ELF_ELF_STRINGS_H
#define ELF_ELF_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#define ELF_MAX_STRING_BYTES 16384 /* what is longer is cut */

struct elf_image;
struct elf_section;

struct elf_strings {
	const struct elf_image *img; /* borrowed until elf_strings_done() */
	uint64_t offset, size;       /* of the table, in the file */
	char *lines;                 /* owned; piece i of the file is in line i % nr_lines */
	uint64_t *pieces;            /* owned; the piece in each line plus 1, 0: none */
	size_t nr_lines;
	char text[ELF_MAX_STRING_BYTES + 1]; /* the string given last */
};

/* -EBADMSG: outside the file, or compressed; -ENOMEM. */
int elf_strings_init(struct elf_strings *s, const struct elf_image *img,
		     const struct elf_section *section);
void elf_strings_done(struct elf_strings *s);

/* The string at an offset, valid until the next call. NULL: outside the table, without an end, or
 * it cannot be read. */
const char *elf_strings_get(struct elf_strings *s, uint64_t offset);

#endif
