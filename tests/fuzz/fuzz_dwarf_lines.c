/* SPDX-License-Identifier: Apache-2.0 */
/* A line table: all of .debug_line, for a unit of one function. */
#include <stdint.h>
#include <stdlib.h>

#include "dwarf/dwarf.h"
#include "unit/dwarf_maker.h"

#define PROBES 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void probe(const struct elf_image *img)
{
	static struct dwarf_frame frames[DWARF_MAX_FRAMES];
	struct dwarf *d;

	if (dwarf_open(&(struct dwarf_files){ .image = img, .debug = img }, &d) < 0)
		return;
	for (uint64_t i = 0; i < PROBES; i++) {
		uint32_t nr = 0;

		if (dwarf_resolve(d, MAKER_CODE + i * 8, frames, &nr) < 0 || !frames[nr - 1].name)
			abort(); /* whatever the lines are, the function is known */
	}
	dwarf_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct dwarf_maker d;
	struct elf_image *img;
	struct elf_maker m;

	if (size > sizeof(d.line.at))
		return 0;
	memset(&d, 0, sizeof(d));
	make_abbrevs(&d.abbrev);
	unit_begin(&d, MAKER_CODE, 0x1000);
	add_function(&d, "f", MAKER_CODE, 0x1000, 1);
	end_children(&d);
	unit_end(&d);
	memcpy(d.line.at, data, size);
	d.line.len = size;
	make_dwarf_elf(&m, &d);
	maker_end(&m);
	if (elf_image_open_mem(m.bytes, m.len, &img) == 0) {
		probe(img);
		elf_image_free(img);
	}
	maker_done(&m);
	return 0;
}
