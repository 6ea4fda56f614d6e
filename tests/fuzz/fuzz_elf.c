/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file, read and named in every way there is. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "elf/elf_debuglink.h"
#include "elf/elf_fde.h"
#include "elf/elf_image.h"
#include "symbolize/symbolizer.h"
#include "symbolize/symbolizer_elf.h"

#define SECTION_MAX_BYTES (1u << 20)
#define PROBES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_sections(const struct elf_image *img)
{
	struct buf b = BUF_INIT(SECTION_MAX_BYTES);

	for (size_t i = 0; i < elf_image_nr_sections(img) && i < PROBES; i++) {
		buf_clear(&b);
		(void)elf_image_read_section(img, elf_image_section_at(img, i), &b);
	}
	buf_done(&b);
	(void)elf_image_section(img, ".text");
}

static void read_links(const struct elf_image *img)
{
	struct elf_debuglink link;
	struct elf_altlink alt;

	if (elf_debuglink_read(img, &link) == 0 && strchr(link.name, '/'))
		abort(); /* a name that leads to another folder */
	if (elf_altlink_read(img, &alt) == 0 && (!alt.path[0] || !alt.build_id.len))
		abort(); /* a link to nothing, or to anything */
	(void)elf_image_has_dwarf(img);
	(void)elf_image_has_symtab(img);
}

typedef int (*open_fdes_fn)(const struct elf_image *img, struct elf_fdes **ret_fdes);

static void find_fdes(const struct elf_image *img, uint64_t base, open_fdes_fn open_fdes)
{
	struct elf_fdes *fdes;
	uint64_t start, end;

	if (open_fdes(img, &fdes) < 0)
		return;
	for (uint64_t i = 0; i < PROBES; i++)
		if (elf_fdes_find(fdes, base + i * 16, &start, &end) == 0 &&
		    (base + i * 16 < start || base + i * 16 >= end))
			abort(); /* an FDE that does not cover the address */
	(void)elf_fdes_free(fdes);
}

static void resolve(const struct elf_image *img, uint64_t base)
{
	struct symbolizer *s;
	struct symbol_result r;

	if (symbolizer_new_elf(&(struct elf_sources){ .image = img, .label = "file" }, &s) < 0)
		return;
	for (uint64_t i = 0; i < PROBES; i++)
		if (s->ops->resolve(s, base + i * 16, &r) == 0 && !r.frames[0].name[0])
			abort(); /* an address without any name */
	(void)s->ops->resolve(s, UINT64_MAX, &r);
	symbolizer_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_image *img;
	uint64_t base = 0;

	if (elf_image_open_mem(data, size, &img) < 0)
		return 0;
	(void)elf_image_vaddr_of(img, elf_image_entry(img), &base);
	read_sections(img);
	read_links(img);
	find_fdes(img, elf_image_entry(img), elf_fdes_open);
	find_fdes(img, elf_image_entry(img), elf_fdes_scan);
	resolve(img, elf_image_entry(img));
	elf_image_free(img);
	return 0;
}
