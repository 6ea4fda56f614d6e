/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the start of a Go program's code, from which its function table (go_table.h) counts
 * addresses. Not all versions store it in the table. Used by everything that reads the table.
 */
#ifndef ELF_GO_TEXT_H
#define ELF_GO_TEXT_H

#include <stdint.h>

#include "elf/go_table.h"

struct elf_image;

/* What the caller knows about the return address of signal handlers on x86-64. */
struct go_returns {
	const uint64_t *addrs; /* borrowed; link-time */
	uint32_t nr;
};

/*
 * The link-time address from which code addresses count. Sources, in order; the first that fits the
 * code wins: the table after relocation (absent since Go 1.26); the runtime's module data
 * (.go.module, Go 1.26); the ELF entry point, which is a function of the table (not with cgo); the
 * function to which signal handlers return. returns: NULL if that is unknown. -ENOENT: none
 * applies.
 */
int go_text_find(const struct elf_image *img, const struct go_table *t,
		 const struct go_returns *returns, uint64_t *ret_text);

/* The link-time address of go.func.*, where inlined calls are stored (struct go_call), according to
 * the module data. 0: unknown. */
uint64_t go_text_calls(const struct elf_image *img, const struct go_table *t);

#endif
