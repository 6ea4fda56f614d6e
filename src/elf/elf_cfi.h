/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information as stored in files: the CIEs and FDEs of .eh_frame and .debug_frame (LSB
 * Core 5.0, "Exception Frames"; DWARF 5, 6.4.1), read one by one. unwind/ interprets their
 * instructions. Addresses have 8 bytes.
 */
#ifndef ELF_ELF_CFI_H
#define ELF_ELF_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/leb128.h"

struct elf_image;

#define ELF_CFI_MAX_BYTES (128u << 20) /* the largest known sections are below 64 MiB */
#define ELF_CIE_HEAD_MAX_BYTES 256     /* before the instructions: the string can have any length */
#define ELF_FDE_HEAD_MAX_BYTES (20 + 3 * LEB128_MAX_BYTES)

/* Pointer encodings (LSB Core 5.0, "DWARF Exception Header Encoding"). */
enum elf_pointer_encoding {
	ELF_PE_ABSPTR = 0x00,
	ELF_PE_ULEB128 = 0x01,
	ELF_PE_UDATA2 = 0x02,
	ELF_PE_UDATA4 = 0x03,
	ELF_PE_UDATA8 = 0x04,
	ELF_PE_SLEB128 = 0x09,
	ELF_PE_SDATA2 = 0x0a,
	ELF_PE_SDATA4 = 0x0b,
	ELF_PE_SDATA8 = 0x0c,
	ELF_PE_FORMAT_MASK = 0x0f,
	ELF_PE_PCREL = 0x10,
	ELF_PE_DATAREL = 0x30,
	ELF_PE_OMIT = 0xff,
};

struct elf_cfi {
	const uint8_t *bytes; /* borrowed from the caller */
	size_t size;
	uint64_t addr; /* link-time address of the first byte; needed only for .eh_frame */
	bool is_debug_frame;
	bool is_excerpt; /* entries may extend beyond the bytes */
};

struct elf_cfi_entry {
	uint64_t offset;    /* within the frame section, like all offsets here */
	bool is_end;        /* a length of 0 */
	bool is_cie;        /* otherwise an FDE */
	uint64_t cie;       /* of an FDE: offset of its CIE; not validated */
	uint64_t next;      /* offset of the next entry */
	struct cursor body; /* the bytes after length and ID */
};

struct elf_cfi_cie {
	uint64_t code_alignment;
	int64_t data_alignment;
	uint64_t ra_reg;            /* register number of the return address */
	uint8_t address_encoding;   /* encoding of its FDEs' pointers: enum elf_pointer_encoding */
	bool has_augmentation_size; /* 'z' */
	bool is_signal;             /* 'S' */
	struct cursor program;      /* initial instructions */
};

struct elf_cfi_fde {
	uint64_t start, end; /* link-time */
	uint64_t offset;     /* of the FDE */
	uint64_t cie;        /* of its CIE */
	const uint8_t *program;
	size_t program_bytes;
};

/* Reads a whole section by name. The caller frees *ret_bytes. -ENOENT: no such section; -E2BIG,
 * -EBADMSG; -EOPNOTSUPP: unknown compression. */
int elf_cfi_read_section(const struct elf_image *img, const char *name, struct elf_cfi *ret_frame,
			 uint8_t **ret_bytes);

/* The number as stored, without adding a base. -EBADMSG. */
int elf_pointer_number(struct cursor *c, uint8_t encoding, uint64_t *ret_number);

/* An address; c is at a position in the frame's bytes. -EBADMSG, also for bases that only unlinked
 * files use. */
int elf_cfi_pointer(const struct elf_cfi *f, struct cursor *c, uint8_t encoding,
		    uint64_t *ret_addr);

/* The entry at an offset. -EBADMSG: its length is invalid, so no later entry can be found. */
int elf_cfi_entry(const struct elf_cfi *f, uint64_t offset, struct elf_cfi_entry *ret_entry);

/* Parses an entry by its kind. -EBADMSG: malformed, or not of that kind. */
int elf_cfi_cie(const struct elf_cfi *f, const struct elf_cfi_entry *e,
		struct elf_cfi_cie *ret_cie);
int elf_cfi_fde(const struct elf_cfi *f, const struct elf_cfi_entry *e, uint8_t address_encoding,
		bool has_augmentation_size, struct elf_cfi_fde *ret_fde);

#endif
