/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a file has the table of Go's runtime (go_table.h): in a section of its own, as Go's linker
 * leaves it, or in the one that ld makes of that and others.
 */
#ifndef ELF_GO_SEARCH_H
#define ELF_GO_SEARCH_H

#include "elf/go_table.h"

struct buf;
struct elf_image;
struct elf_section;

#define GO_MAX_TABLE_BYTES (256u << 20)

/* A section, or the part of one from where the table begins; looked for once per image. -ENOENT: there
 * is none. */
int go_search(const struct elf_image *img, struct elf_section *ret_section);

/* Reads the table into a buffer, which the table borrows from then on. -ENOENT: there is none that
 * is known; -EBADMSG, -E2BIG, -ENOMEM. */
int go_search_load(const struct elf_image *img, struct buf *to, struct go_table *ret_table);

#endif
