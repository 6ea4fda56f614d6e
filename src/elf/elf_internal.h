/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of elf/ only. */
#ifndef ELF_ELF_INTERNAL_H
#define ELF_ELF_INTERNAL_H

#include "base/work.h"
#include "elf/elf_image.h"

/* The cost of reads so far, and results of expensive searches. */
struct elf_meter {
	struct work work;
	bool has_counted_stored;
	bool has_allowed_stored; /* the file's own allowance has been added */
	uint64_t stored_bytes;
	bool has_searched_go;
	int go_result; /* result of that search */
	struct elf_section go_table;
};

struct elf_image {
	int fd;             /* borrowed from the caller until the image is freed; -1: in memory */
	const uint8_t *mem; /* borrowed likewise; NULL: read by fd */
	uint64_t size;      /* file size at open */
	uint64_t entry;
	uint16_t machine;
	bool is_32;                /* ELFCLASS32; see elf_class.h */
	struct elf_segment *loads; /* owned */
	size_t nr_loads;
	struct elf_segment eh_frame_hdr; /* PT_GNU_EH_FRAME; filesz 0: none */
	struct elf_section *sections;    /* owned */
	size_t nr_sections;
	char *section_names; /* owned; a NUL is appended */
	struct build_id build_id;
	struct elf_meter *meter; /* `own`: reads of a const image are charged as well */
	struct elf_meter own;
};

/* Reads the section headers. Malformed ones give no sections and no error; -ENOMEM. */
int elf_sections_load(struct elf_image *img, uint64_t table_offset, uint64_t nr, uint64_t names_at);

/* Looks for a GNU build-id in size bytes of notes at a file offset. align: 8 for notes aligned to 8
 * bytes, otherwise 4. *budget_bytes limits the cost per image. Malformed notes are not an error;
 * -ENOMEM. */
int elf_notes_scan(struct elf_image *img, uint64_t offset, uint64_t size, uint64_t align,
		   uint64_t *budget_bytes);

#define ELF_MAX_NOTE_BYTES (1u << 20) /* for all notes of an image; real files need hundreds */

#endif
