/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that find and read CIEs and FDEs. */
#ifndef UNWIND_EH_FRAME_INTERNAL_H
#define UNWIND_EH_FRAME_INTERNAL_H

#include "unwind/eh_frame.h"

struct elf_fdes;

struct cfi {
	struct elf_cfi frame;  /* over the caller's bytes, or `owned` */
	uint8_t *owned;        /* owned; NULL: the bytes are the caller's */
	struct elf_fdes *fdes; /* owned; from .eh_frame_hdr, or collected */
	const struct unwind_arch *arch;
	uint64_t code_start, code_end;
	const struct elf_image *img; /* borrowed from the caller; NULL: none */
	bool is_suspect;             /* FDEs may be missing */
};

#endif
