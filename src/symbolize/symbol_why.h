/* SPDX-License-Identifier: Apache-2.0 */
/* Why a source of symbols knows less than it might. These are numbers, so that a process that reads
 * a hostile file can report a reason, but cannot compose the text that the user sees. */
#ifndef SYMBOLIZE_SYMBOL_WHY_H
#define SYMBOLIZE_SYMBOL_WHY_H

enum symbol_why {
	WHY_NONE,

	/* Why addresses have no symbol: */
	WHY_SYMTAB_TOO_LARGE,
	WHY_SYMTAB_DAMAGED,
	WHY_NO_SECTIONS,
	WHY_STRIPPED,
	WHY_ONLY_DYNSYM,
	WHY_NOT_COVERED,
	WHY_KERNEL_NOT_LISTED,
	WHY_KERNEL_REUSED,
	WHY_KERNEL_HIDDEN,
	WHY_KERNEL_NOT_READABLE,
	WHY_KERNEL_ZEROES,

	/* No symbols, because the source could not be read, or not completely: */
	WHY_NO_MEMORY,
	WHY_TOO_LARGE,
	WHY_CANCELLED,

	/* No lines, or some lines missing, although there is debug information: */
	WHY_LINES_CANCELLED,
	WHY_LINES_TOO_LARGE,
	WHY_LINES_NO_MEMORY,
	WHY_LINES_DAMAGED,
	WHY_SOME_LINES_CANCELLED,
	WHY_SOME_LINES_TOO_LARGE,
	WHY_SOME_LINES_DAMAGED,
	WHY_SPLIT_MISSING,

	/* Left out because of its cost: */
	WHY_LINES_COST,
	WHY_FILE_COST,
	NR_SYMBOL_WHYS,
};

struct symbol_why_text {
	const char *why;    /* static; NULL for WHY_NONE */
	const char *advice; /* what the user can do about it; static; NULL: nothing */
};

struct symbol_why_text symbol_why_text(enum symbol_why why);

#endif
