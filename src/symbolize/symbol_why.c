/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symbol_why.h"

#define NOT_STRIPPED "use a build of it that is not stripped"
#define KERNEL_HIDDEN "the kernel does not show its symbols"

static const struct symbol_why_text texts[NR_SYMBOL_WHYS] = {
	[WHY_SYMTAB_TOO_LARGE] = { "its symbol table is too large, the rest of it is left out",
				   NULL },
	[WHY_SYMTAB_DAMAGED] = { "its symbol table is damaged", NOT_STRIPPED },
	[WHY_NO_SECTIONS] = { "it has no section headers, so no symbol table can be found",
			      NOT_STRIPPED },
	[WHY_STRIPPED] = { "it is stripped (no symbol table is left)", NOT_STRIPPED },
	[WHY_ONLY_DYNSYM] = { "it is stripped (only .dynsym is left)", NOT_STRIPPED },
	[WHY_NOT_COVERED] = { "its symbol table does not cover this code", NULL },
	[WHY_KERNEL_NOT_LISTED] = { "the kernel lists no function there", NULL },
	[WHY_KERNEL_REUSED] = { "several BPF programs were loaded there at different times", NULL },
	[WHY_KERNEL_HIDDEN] = { KERNEL_HIDDEN, NULL },
	[WHY_KERNEL_NOT_READABLE] = { KERNEL_HIDDEN, "run as root" },
	[WHY_KERNEL_ZEROES] = { KERNEL_HIDDEN, "run as root or with CAP_SYSLOG, and with "
					       "kernel.kptr_restrict below 2" },
	[WHY_NO_MEMORY] = { "out of memory for its symbols", NULL },
	[WHY_TOO_LARGE] = { "its symbol table is too large", NULL },
	[WHY_CANCELLED] = { "reading its symbols was interrupted", NULL },
	[WHY_LINES_CANCELLED] = { "reading its debug information was interrupted, so lines are "
				  "left out",
				  NULL },
	[WHY_LINES_TOO_LARGE] = { "its debug information is larger than the limits, so lines are "
				  "left out",
				  NULL },
	[WHY_LINES_NO_MEMORY] = { "out of memory for its debug information, so lines are left out",
				  NULL },
	[WHY_LINES_DAMAGED] = { "its debug information is damaged, so lines are left out", NULL },
	[WHY_SOME_LINES_CANCELLED] = { "reading its debug information was interrupted, so some "
				       "lines are left out",
				       NULL },
	[WHY_SOME_LINES_TOO_LARGE] = { "its debug information is larger than the limits, so some "
				       "lines are left out",
				       NULL },
	[WHY_SOME_LINES_DAMAGED] = { "some of its debug information is damaged, so some lines are "
				     "left out",
				     NULL },
	[WHY_SPLIT_MISSING] = { "some of its .dwo files were not found or are of another build, so "
				"inlined functions are left out",
				NULL },
	[WHY_LINES_COST] = { "its debug information costs more to read than the limits allow",
			     NULL },
	[WHY_FILE_COST] = { "it costs more to read than the limits allow", NULL },
};

struct symbol_why_text symbol_why_text(enum symbol_why why)
{
	return texts[why];
}
