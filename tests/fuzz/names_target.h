/* SPDX-License-Identifier: Apache-2.0 */
/* What the targets share that have names made of a whole file. */
#ifndef FUZZ_NAMES_TARGET_H
#define FUZZ_NAMES_TARGET_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_image.h"
#include "symbolize/symbolize_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What an index is promised; the names lie within the file. */
static int check_symbol(void *ctx, const struct elf_symbol *sym)
{
	const size_t *file_bytes = ctx;

	if (!sym->name[0] || !sym->size || strlen(sym->name) > *file_bytes)
		abort();
	return 0;
}

static int try_names(const uint8_t *data, size_t size, symbols_each_fn each)
{
	struct symtab_index idx;
	enum symtab_state state;
	struct elf_image *img;
	struct symtab_hit hit;

	if (elf_image_open_mem(data, size, &img) < 0)
		return 0;
	(void)each(img, check_symbol, &size); /* damage is not a failure */
	if (symtab_index_init(&idx, img, each, &state) == 0)
		(void)symtab_index_find(&idx, elf_image_entry(img), &hit);
	symtab_index_done(&idx);
	elf_image_free(img);
	return 0;
}

#endif
