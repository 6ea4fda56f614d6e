/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where functions begin and end, as the binary search table of .eh_frame_hdr and the FDEs behind
 * it say: enough to tell functions of a stripped binary apart. Not for unwinding.
 */
#ifndef ELF_ELF_FDE_H
#define ELF_ELF_FDE_H

#include <stdint.h>

#include "base/cleanup.h"

struct elf_image;
struct elf_fdes;

/* -ENOENT: no .eh_frame_hdr with a sorted table; -EBADMSG. Works without section headers too, by
 * PT_GNU_EH_FRAME. */
int elf_fdes_open(const struct elf_image *img, struct elf_fdes **ret_fdes);
struct elf_fdes *elf_fdes_free(struct elf_fdes *f);
DEFINE_CLEANUP(struct elf_fdes *, elf_fdes_free)

/* The FDE that covers a link-time address. -ENOENT: none does. */
int elf_fdes_find(const struct elf_fdes *f, uint64_t addr, uint64_t *ret_start, uint64_t *ret_end);

#endif
