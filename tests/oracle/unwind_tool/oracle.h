/* SPDX-License-Identifier: Apache-2.0 */
/* libdw's view of a file's call frame information: its FDEs, and its answer for a pc. */
#ifndef ORACLE_UNWIND_TOOL_ORACLE_H
#define ORACLE_UNWIND_TOOL_ORACLE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct oracle_fde {
	uint64_t start, end;    /* link-time addresses */
	uint64_t offset, next;  /* the entry's bytes, in the section */
	uint64_t cie, cie_next; /* those of its CIE */
};

struct oracle {
	Dwarf *dwarf;   /* owned; NULL for .eh_frame */
	Dwarf_CFI *cfi; /* owned, or the Dwarf's */
	bool is_debug_frame;
	struct oracle_fde *fdes; /* owned; sorted by start, then by offset */
	size_t nr;
	uint64_t section_offset; /* of the section in the file */
};

/* elf is borrowed until oracle_close(). -ENOENT: no such section; -EBADMSG: libdw refuses it. */
int oracle_open(Elf *elf, bool is_debug_frame, struct oracle *ret_oracle);
void oracle_close(struct oracle *o);

/* The answer for one pc. The frame is the caller's, for free(). -ENOENT: libdw has no answer. */
struct oracle_row {
	uint64_t start, end;
	bool is_signal;
	Dwarf_Frame *frame;
};
int oracle_row_at(const struct oracle *o, uint64_t pc, struct oracle_row *ret_row);

#endif
