/* SPDX-License-Identifier: Apache-2.0 */
/* The section .gnu_debugdata: an ELF file packed by xz. */
#include <stdint.h>

#include "elf/elf_minidebug.h"
#include "symbolize/symbolizer.h"
#include "symbolize/symbolizer_elf.h"
#include "unit/elf_maker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbol_result r;
	struct symbolizer *s;
	struct elf_image *img;
	struct elf_maker m;

	if (size > MAKER_MAX_BYTES / 2)
		return 0;
	maker_init(&m);
	maker_section(&m, ".gnu_debugdata", SHT_PROGBITS, 0, data, size);
	maker_end(&m);
	img = maker_open(&m);
	if (symbolizer_new_elf(&(struct elf_sources){ .image = img, .label = "file" }, &s) == 0) {
		(void)s->ops->resolve(s, 0x1000, &r);
		symbolizer_free(s);
	}
	elf_image_free(img);
	maker_done(&m);
	return 0;
}
