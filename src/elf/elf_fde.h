/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where functions begin and end, as the binary search table of .eh_frame_hdr, or one made of
 * .eh_frame, and the FDEs behind it say: enough to tell functions of a stripped binary apart. What is inside an FDE is unwind/'s.
 */
#ifndef ELF_ELF_FDE_H
#define ELF_ELF_FDE_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct elf_image;
struct elf_fdes;

/* -ENOENT: no .eh_frame_hdr with a sorted table; -EBADMSG. Works without section headers too, by
 * PT_GNU_EH_FRAME. */
int elf_fdes_open(const struct elf_image *img, struct elf_fdes **ret_fdes);

/* The same by reading all of .eh_frame: static binaries often have no .eh_frame_hdr. Damaged and
 * empty FDEs are left out. -ENOENT: no .eh_frame, or no FDE in it; -EBADMSG. */
int elf_fdes_scan(const struct elf_image *img, struct elf_fdes **ret_fdes);

struct elf_fdes *elf_fdes_free(struct elf_fdes *f);
DEFINE_CLEANUP(struct elf_fdes *, elf_fdes_free)

/* The FDE that covers a link-time address. -ENOENT: none does. */
int elf_fdes_find(const struct elf_fdes *f, uint64_t addr, uint64_t *ret_start, uint64_t *ret_end);

/* Where the last FDE at or below a link-time address starts, whether or not it covers the address.
 * -ENOENT: all start above. */
int elf_fdes_start_before(const struct elf_fdes *f, uint64_t addr, uint64_t *ret_start);

/* The table as it stands, sorted by start, nothing behind it checked: where each FDE says that it
 * starts, and where it lies. */
size_t elf_fdes_nr(const struct elf_fdes *f);
void elf_fdes_at(const struct elf_fdes *f, size_t i, uint64_t *ret_start, uint64_t *ret_fde);

/* Where .eh_frame begins. -ENOENT: the header does not say. */
int elf_fdes_frame_addr(const struct elf_fdes *f, uint64_t *ret_addr);

#endif
