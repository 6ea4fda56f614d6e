/* SPDX-License-Identifier: Apache-2.0 */
/* Debug information: sections one after the other, each behind its length in 16 bits; in the order of
 * the table. */
#include <stdint.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "dwarf/dwarf.h"
#include "unit/elf_maker.h"

#define CODE_START 0x1000u
#define CODE_BYTES 0x4000u
#define PROBES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const sections[] = {
	".debug_info", ".debug_abbrev",   ".debug_line",
	".debug_str",  ".debug_line_str", ".debug_str_offsets",
	".debug_addr", ".debug_rnglists", ".debug_ranges",
};

static void make(struct elf_maker *m, struct cursor c)
{
	maker_init(m);
	maker_segment(m, PT_LOAD, PF_R | PF_X, CODE_START, maker_bytes(m, NULL, 0), 0)->p_memsz =
		CODE_BYTES;
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		size_t n = cursor_left(&c) >= 2 ? cursor_u16(&c) : 0;

		n = n < cursor_left(&c) ? n : cursor_left(&c);
		maker_section(m, sections[i], SHT_PROGBITS, 0, cursor_take(&c, n), n);
	}
	maker_end(m);
}

static void probe(const struct elf_image *img)
{
	/* The file is its own supplementary file too: references may lead anywhere. */
	struct dwarf_files files = { .image = img, .debug = img, .alt = img };
	static struct dwarf_frame frames[DWARF_MAX_FRAMES];
	struct dwarf *d;

	if (dwarf_open(&files, &d) < 0)
		return;
	for (uint64_t i = 0; i < PROBES; i++) {
		uint32_t nr = 0;

		if (dwarf_resolve(d, CODE_START + i * 16, frames, &nr) == 0 &&
		    (nr == 0 || nr > DWARF_MAX_FRAMES))
			abort();
		for (uint32_t k = 0; k + 1 < nr; k++)
			if (frames[k].name && !*frames[k].name)
				abort(); /* an empty name */
	}
	dwarf_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_image *img;
	struct elf_maker m;

	if (size > MAKER_MAX_BYTES / 2)
		return 0;
	make(&m, cursor_of(data, size));
	if (elf_image_open_mem(m.bytes, m.len, &img) == 0) {
		probe(img);
		elf_image_free(img);
	}
	maker_done(&m);
	return 0;
}
