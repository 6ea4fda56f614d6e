/* SPDX-License-Identifier: Apache-2.0 */
/* A whole file: lines and inlined functions that the table of Go's runtime gives to its code. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_image.h"
#include "symbolize/symbolize_internal.h"

#define ADDRESSES 64 /* of each segment */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(struct go_lines *l, uint64_t addr)
{
	struct symbol_frame named = { .name = "f", .system_name = "f" };
	struct symbol_result r = { .frames = &named, .nr_frames = 1, .is_named = true };

	go_lines_add(l, addr, &r);
	if (!r.nr_frames || strcmp(r.frames[r.nr_frames - 1].name, "f") != 0)
		abort();
	for (uint32_t i = 0; i < r.nr_frames; i++)
		if (!r.frames[i].name[0] || (r.frames[i].line && !r.frames[i].filename) ||
		    (r.frames[i].filename && strlen(r.frames[i].filename) > 4096))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct go_lines *l = NULL;
	const struct elf_segment *loads;
	struct elf_image *img;
	size_t nr;

	if (elf_image_open_mem(data, size, &img) < 0)
		return 0;
	loads = elf_image_loads(img, &nr);
	if (go_lines_new(img, NULL, &l) == 0)
		for (size_t i = 0; i < nr; i++)
			for (uint64_t k = 0; k < ADDRESSES; k++)
				ask(l, loads[i].vaddr + 8 * k);
	go_lines_free(l);
	elf_image_free(img);
	return 0;
}
