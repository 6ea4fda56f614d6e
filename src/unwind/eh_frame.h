/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information as a file stores it: CIEs and FDEs, in .eh_frame or .debug_frame, in the
 * order of the code they are about. Bytes in, values out; nothing in them is believed. What the
 * instructions of an entry mean is the business of cfi_vm.h.
 */
#ifndef UNWIND_EH_FRAME_H
#define UNWIND_EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "unwind/cfi_vm.h"

struct elf_image;

#define CFI_MAX_SECTION_BYTES (128u << 20) /* the largest known are below 64 MiB */
#define CFI_MAX_FDES (16u << 20)
#define CFI_MAX_SPAN_BYTES (2ull << 30) /* of code: the reach of a 32-bit displacement */

struct cfi;

struct cfi_bytes {
	const void *bytes; /* borrowed until the cfi is freed */
	size_t size;
	uint64_t addr; /* link-time address of the first byte; only .eh_frame needs it */
	bool is_debug_frame;
	const struct unwind_arch *arch;
	uint64_t code_start, code_end; /* link-time; what lies outside is not code */
};

/* FDEs are sorted by us. -E2BIG, -ENOMEM. */
int cfi_open_bytes(const struct cfi_bytes *in, struct cfi **ret_cfi);

/* The section, by .eh_frame_hdr or by its name. -ENOENT: none; -EOPNOTSUPP: an architecture that
 * is not known; -EBADMSG, -E2BIG. img is borrowed until the cfi is freed. */
int cfi_open_eh_frame(const struct elf_image *img, struct cfi **ret_cfi);

/* .debug_frame of `debug`, a separate debug file of img or img itself. The same errors;
 * -EOPNOTSUPP also when the section is compressed in a way that is not known. */
int cfi_open_debug_frame(const struct elf_image *img, const struct elf_image *debug,
			 struct cfi **ret_cfi);

struct cfi *cfi_free(struct cfi *cfi);
DEFINE_CLEANUP(struct cfi *, cfi_free)

const struct unwind_arch *cfi_arch(const struct cfi *cfi);
size_t cfi_size_bytes(const struct cfi *cfi);             /* of the section */
const struct elf_image *cfi_image(const struct cfi *cfi); /* NULL: opened from bytes */

/* FDEs, sorted by start; some of them may turn out to be damaged. */
size_t cfi_nr_fdes(const struct cfi *cfi);

/* FDEs that are not among them, because they could not be read. */
size_t cfi_nr_damaged(const struct cfi *cfi);

/* Whether others may be missing, too: the section or its table is damaged. */
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

struct cfi_fde {
	uint64_t start, end; /* link-time */
	uint64_t offset;     /* in the section */
	uint64_t cie;        /* offset of its CIE, likewise */
	const uint8_t *program;
	size_t program_bytes;
};

/*
 * Reads the entries of one cfi for one purpose. It keeps the CIEs seen last, and bounds the work:
 * honest files cost each byte about once, while entries that overlap could cost a byte as often as
 * there are entries.
 */
struct cfi_reader;

/* all_registers: slots are DWARF numbers; else the few that rows are made of. */
int cfi_reader_new(const struct cfi *cfi, bool all_registers, struct cfi_reader **ret_reader);
struct cfi_reader *cfi_reader_free(struct cfi_reader *rd);
DEFINE_CLEANUP(struct cfi_reader *, cfi_reader_free)

/* FDE i. -EBADMSG: damaged, or not where the index says; -ERANGE: not code, or empty. */
int cfi_reader_fde(struct cfi_reader *rd, size_t i, struct cfi_fde *ret_fde);

/*
 * Sets vm up to run the FDE's instructions; the CIE, which vm borrows from, stays as it is until the
 * next call for this reader. -EBADMSG: damaged, or more work than such a file may cost.
 */
int cfi_reader_start(struct cfi_reader *rd, const struct cfi_fde *fde, struct cfi_vm *vm,
		     const struct cfi_cie **ret_cie);

#endif
