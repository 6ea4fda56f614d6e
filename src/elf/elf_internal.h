/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of elf/ share and nobody else needs. */
#ifndef ELF_ELF_INTERNAL_H
#define ELF_ELF_INTERNAL_H

#include "base/work.h"
#include "elf/elf_image.h"

/* What reads of the image have cost, and what is remembered of long searches. */
struct elf_meter {
	struct work work;
	bool has_counted_stored;
	bool has_allowed_stored; /* what the file itself allows has been added */
	uint64_t stored_bytes;
	bool has_searched_go;
	int go_result; /* of that search */
	struct elf_section go_table;
};

struct elf_image {
	int fd;             /* borrowed from the caller until the image is freed; -1: in memory */
	const uint8_t *mem; /* borrowed likewise; NULL: by fd */
	uint64_t size;      /* bytes of the file when it was opened */
	uint64_t entry;
	uint16_t machine;
	bool is_32;                /* ELFCLASS32; see elf_class.h */
	struct elf_segment *loads; /* owned */
	size_t nr_loads;
	struct elf_segment eh_frame_hdr; /* PT_GNU_EH_FRAME; filesz 0: none */
	struct elf_section *sections;    /* owned */
	size_t nr_sections;
	char *section_names; /* owned; ends with a NUL of our own */
	struct build_id build_id;
	struct elf_meter *meter; /* `own`: an image that is not changed is charged as well */
	struct elf_meter own;
};

/* Reads the sections that the header announces. Damage leaves none and is no error; -ENOMEM. */
int elf_sections_load(struct elf_image *img, uint64_t table_offset, uint64_t nr, uint64_t names_at);

/* Looks for a GNU build-id in size bytes of notes at a file offset. align: 8 for notes aligned to
 * 8 bytes, 4 for all others. *budget_bytes bounds what one image may cost. Damage is no error;
 * -ENOMEM. */
int elf_notes_scan(struct elf_image *img, uint64_t offset, uint64_t size, uint64_t align,
		   uint64_t *budget_bytes);

#define ELF_MAX_NOTE_BYTES (1u << 20) /* of all notes of an image; real files have hundreds */

#endif
