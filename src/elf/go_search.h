/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the table of Go's runtime (go_table.h) in a file: in a section of its own, as Go's linker
 * leaves it, or in a section that ld merged from several.
 */
#ifndef ELF_GO_SEARCH_H
#define ELF_GO_SEARCH_H

#include "elf/go_table.h"

struct buf;
struct elf_image;
struct elf_section;

#define GO_MAX_TABLE_BYTES (256u << 20)

/* The section, or its part from the start of the table on; searched once per image. -ENOENT: there
 * is none. */
int go_search(const struct elf_image *img, struct elf_section *ret_section);

/* Reads the table into a buffer, which the table borrows from then on. -ENOENT: no known table;
 * -EBADMSG, -E2BIG, -ENOMEM. */
int go_search_load(const struct elf_image *img, struct buf *to, struct go_table *ret_table);

#endif
