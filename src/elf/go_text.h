/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the code of a Go program begins: the table of its functions (go_table.h) counts from there,
 * and not all versions say it there. For all who read that table.
 */
#ifndef ELF_GO_TEXT_H
#define ELF_GO_TEXT_H

#include <stdint.h>

#include "elf/go_table.h"

struct elf_image;

/* What the caller knows of the code that signal handlers return to, on x86-64. */
struct go_returns {
	const uint64_t *addrs; /* borrowed; link-time */
	uint32_t nr;
};

/*
 * The link-time address that code counts from. In this order, the first that fits the code: what the
 * table says once it is loaded (nothing since Go 1.26); what the runtime's description of the
 * module says (.go.module, Go 1.26); the program's entry, which is a function of the table (not with
 * C in it); the function that signal handlers return to. returns: NULL where that is not known.
 * -ENOENT: nothing tells.
 */
int go_text_find(const struct elf_image *img, const struct go_table *t,
		 const struct go_returns *returns, uint64_t *ret_text);

/* The link-time address of go.func.*, where the calls that were inlined are (struct go_call), as the
 * description of the module says. 0: not known. */
uint64_t go_text_calls(const struct elf_image *img, const struct go_table *t);

#endif
