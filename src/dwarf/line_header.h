/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a line table: how its program is encoded, and the files that rows refer to. */
#ifndef DWARF_LINE_HEADER_H
#define DWARF_LINE_HEADER_H

#include "dwarf/internal.h"

struct dw_line_file {
	struct dw_value name;
	uint64_t directory;
};

struct dw_line_header {
	struct dw_view view; /* of the header, into which names may point */
	uint64_t program_offset, program_bytes;
	uint16_t version;
	uint8_t min_instruction_bytes;
	int8_t line_base;
	uint8_t line_range; /* not 0 */
	uint8_t opcode_base;
	uint8_t offset_bytes;
	uint8_t operands[256];        /* of each standard opcode */
	struct dw_value *directories; /* owned */
	uint32_t nr_directories, cap_directories;
	struct dw_line_file *files; /* owned */
	uint32_t nr_files, cap_files;
};

/* Of u's line table. -ENOENT: it has none. A partly built header may be passed to _done(). */
int dw_line_header_init(struct dw_line_header *h, const struct dw_unit *u);
void dw_line_header_done(struct dw_line_header *h);
uint64_t dw_line_header_bytes(const struct dw_line_header *h);
int dw_line_header_path(const struct dw_line_header *h, const struct dw_unit *u, uint32_t file,
			const char **ret_path);

#endif
