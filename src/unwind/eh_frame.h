/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information in address order: entries (elf/elf_cfi.h) of .eh_frame or .debug_frame,
 * ready to be run by the machine of cfi_vm.h.
 */
#ifndef UNWIND_EH_FRAME_H
#define UNWIND_EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "elf/elf_cfi.h"
#include "unwind/cfi_vm.h"

struct elf_image;

#define CFI_MAX_SPAN_BYTES (2ull << 30) /* of code: the range of a 32-bit displacement */

struct cfi;

struct cfi_bytes {
	const void *bytes; /* borrowed until the cfi is freed */
	size_t size;
	uint64_t addr; /* link-time address of the first byte; needed only for .eh_frame */
	bool is_debug_frame;
	const struct unwind_arch *arch;
	uint64_t code_start, code_end; /* link-time; anything outside is not code */
};

/* FDEs need not be sorted. -E2BIG, -ENOMEM. */
int cfi_open_bytes(const struct cfi_bytes *in, struct cfi **ret_cfi);

/* Opens the section by .eh_frame_hdr or by name. -ENOENT: none; -EOPNOTSUPP: unknown architecture;
 * -EBADMSG, -E2BIG. img is borrowed until the cfi is freed. */
int cfi_open_eh_frame(const struct elf_image *img, struct cfi **ret_cfi);

/* Opens .debug_frame of `debug`, a separate debug file of img or img itself. Errors as for
 * cfi_open_eh_frame(); -EOPNOTSUPP also if the compression is unknown. */
int cfi_open_debug_frame(const struct elf_image *img, const struct elf_image *debug,
			 struct cfi **ret_cfi);

struct cfi *cfi_free(struct cfi *cfi);
DEFINE_CLEANUP(struct cfi *, cfi_free)

const struct unwind_arch *cfi_arch(const struct cfi *cfi);
size_t cfi_size_bytes(const struct cfi *cfi);             /* of the section */
const struct elf_image *cfi_image(const struct cfi *cfi); /* NULL: opened from bytes */

/* FDEs, sorted by start; some may turn out to be malformed. */
size_t cfi_nr_fdes(const struct cfi *cfi);

/* FDEs that are not in the index because they could not be read. */
size_t cfi_nr_damaged(const struct cfi *cfi);

/* True if more FDEs may be missing: the section or its table is malformed. */
bool cfi_is_suspect(const struct cfi *cfi);

/* Number of FDEs that start at or below addr. */
size_t cfi_nr_fdes_to(const struct cfi *cfi, uint64_t addr);

struct cfi_cie {
	uint64_t offset; /* in the section */
	struct cfi_scale scale;
	bool has_augmentation_size; /* 'z' */
	bool is_signal;             /* 'S' */
	uint8_t ra_reg;             /* column of the return address */
	struct cfi_slots slots;
	struct cfi_state initial;
};

/*
 * Reads the entries of one cfi for one purpose. Caches CIEs and limits the work: in a valid file
 * each byte is read about once, while overlapping entries could have a byte read once per entry.
 */
struct cfi_reader;

/* all_registers: slots are DWARF numbers; otherwise only those that rows need. */
int cfi_reader_new(const struct cfi *cfi, bool all_registers, struct cfi_reader **ret_reader);
struct cfi_reader *cfi_reader_free(struct cfi_reader *rd);
DEFINE_CLEANUP(struct cfi_reader *, cfi_reader_free)

/* Reads FDE i. -EBADMSG: malformed, or not where the index says; -ERANGE: not code, or empty. */
int cfi_reader_fde(struct cfi_reader *rd, size_t i, struct elf_cfi_fde *ret_fde);

/*
 * Prepares vm to run the FDE's instructions. vm borrows the CIE until the next call for this
 * reader. -EBADMSG: malformed, or over the work limit.
 */
int cfi_reader_start(struct cfi_reader *rd, const struct elf_cfi_fde *fde, struct cfi_vm *vm,
		     const struct cfi_cie **ret_cie);

#endif
