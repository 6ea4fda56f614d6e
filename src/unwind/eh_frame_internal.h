/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that read CIEs and FDEs share. */
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
};

/* The head of an entry. */
struct cfi_entry {
	bool is_end; /* a length of 0 */
	bool is_cie;
	uint64_t cie;       /* of an FDE: offset of its CIE */
	uint64_t next;      /* offset of the entry behind */
	struct cursor body; /* what follows the head */
};

/* -EBADMSG: cut or senseless. */
int cfi_read_entry(const struct cfi *cfi, uint64_t offset, struct cfi_entry *ret_entry);

/* The number as it is encoded; -EBADMSG also for encodings that linked files do not have. */
int cfi_read_pointer(const struct cfi *cfi, struct cursor *c, uint8_t encoding, uint64_t *ret_addr);

int cfi_read_cie(const struct cfi *cfi, uint64_t offset, bool all_registers,
		 struct cfi_cie *ret_cie);

/* Start and end as they stand; nothing is judged but their encoding. */
int cfi_read_fde(const struct cfi *cfi, const struct cfi_entry *entry, const struct cfi_cie *cie,
		 struct cfi_fde *ret_fde);

/* Sets vm up to run the instructions of an FDE. It borrows from the other three. */
void cfi_start_fde(const struct cfi *cfi, const struct cfi_cie *cie, const struct cfi_fde *fde,
		   struct cfi_vm *vm);

/* The FDE at an offset in the section. */
int cfi_reader_fde_at(struct cfi_reader *rd, uint64_t offset, struct cfi_fde *ret_fde);

#endif
