/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index of functions by address, built from FDEs: the binary search table of .eh_frame_hdr, or
 * collected from the entries (elf_cfi.h) of a section without one.
 */
#ifndef ELF_ELF_FDE_H
#define ELF_ELF_FDE_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct elf_cfi;
struct elf_image;
struct elf_fdes;

/* -ENOENT: no .eh_frame_hdr with a sorted table; -EBADMSG. Also works without section headers, by
 * PT_GNU_EH_FRAME. */
int elf_fdes_open(const struct elf_image *img, struct elf_fdes **ret_fdes);

/* Builds the index by reading all of .eh_frame: static binaries often have no .eh_frame_hdr.
 * Malformed FDEs are skipped. -ENOENT: no .eh_frame, or no FDE in it; -EBADMSG, -E2BIG. */
int elf_fdes_scan(const struct elf_image *img, struct elf_fdes **ret_fdes);

/* The FDEs of a frame section that start within the code, which is at most 2 GiB long; possibly
 * none. There is no file to read FDEs from, so elf_fdes_find() cannot be used. -E2BIG, -ENOMEM. */
int elf_fdes_of_cfi(const struct elf_cfi *frame, uint64_t code_start, uint64_t code_end,
		    struct elf_fdes **ret_fdes);

struct elf_fdes *elf_fdes_free(struct elf_fdes *f);
DEFINE_CLEANUP(struct elf_fdes *, elf_fdes_free)

/* The FDE that covers a link-time address. -ENOENT: none does. */
int elf_fdes_find(const struct elf_fdes *f, uint64_t addr, uint64_t *ret_start, uint64_t *ret_end);

/* Where the last FDE at or below a link-time address starts, whether or not it covers the address.
 * -ENOENT: all start above. */
int elf_fdes_start_before(const struct elf_fdes *f, uint64_t addr, uint64_t *ret_start);

/* The index itself, sorted by start, unchecked: the claimed start of each FDE, and its link-time
 * address. */
size_t elf_fdes_nr(const struct elf_fdes *f);
void elf_fdes_at(const struct elf_fdes *f, size_t i, uint64_t *ret_start, uint64_t *ret_fde);

/* Number of FDEs that start at or below addr. */
size_t elf_fdes_nr_to(const struct elf_fdes *f, uint64_t addr);

/* FDEs skipped by a scan because they could not be read. */
size_t elf_fdes_nr_damaged(const struct elf_fdes *f);

/* Start of .eh_frame. -ENOENT: the header does not say. */
int elf_fdes_frame_addr(const struct elf_fdes *f, uint64_t *ret_addr);

#endif
