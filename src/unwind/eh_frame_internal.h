/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that find and read CIEs and FDEs share. */
#ifndef UNWIND_EH_FRAME_INTERNAL_H
#define UNWIND_EH_FRAME_INTERNAL_H

#include "unwind/eh_frame.h"

struct elf_fdes;

struct cfi {
	const uint8_t *bytes; /* borrowed from the caller, or from `owned` */
	size_t size;
	uint64_t addr;
	bool is_debug_frame;
	const struct unwind_arch *arch;
	uint64_t code_start, code_end;
	const struct elf_image *img; /* borrowed from the caller; NULL: none */
	void *owned;                 /* owned; NULL: the bytes are the caller's */

	/* One of the two is there: the file's own table, or ours. */
	struct elf_fdes *table; /* owned */
	uint64_t *index; /* owned; start - code_start in the upper half, offset in the lower */
	size_t nr;
	size_t nr_damaged;  /* left out of the index */
	bool is_table_lost; /* the file has a table, but it is of no use */
};

/*
 * The FDE at or behind *offset, which moves behind it; nothing is judged but its encoding. -ENOENT:
 * there is none; -EBADMSG: there is one, and it is damaged.
 */
int cfi_reader_next(struct cfi_reader *rd, uint64_t *offset, struct cfi_fde *ret_fde);

#endif
