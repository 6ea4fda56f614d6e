/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates the memory needed to read a file, for callers that read several at once. */
#include "dwarf/internal.h"

/* The size of a decoded unit and its lines, relative to the encoded bytes. */
#define DECODED_TIMES 2 /* 1.5 for libpython, completely decoded */

struct cost {
	uint64_t whole_bytes;   /* sections that are held whole */
	uint64_t decoded_bytes; /* units in the cache */
};

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void add_section(struct cost *c, const struct elf_image *img, const char *name,
			bool is_decoded)
{
	struct dw_section s;

	dw_section_init(&s, img, name);
	if (s.error)
		return;
	if (s.is_packed)
		c->whole_bytes += smaller(s.size, DWARF_MAX_WHOLE_BYTES);
	if (is_decoded)
		c->decoded_bytes += DECODED_TIMES * smaller(s.size, DWARF_CACHE_BYTES);
}

static void add_file(struct cost *c, const struct elf_image *img)
{
	struct dw_section addr;

	for (size_t i = 0; i < DW_NR_SECTIONS; i++)
		add_section(c, img, dw_section_names[i], i == DW_SEC_INFO || i == DW_SEC_LINE);
	dw_section_init(&addr, img, dw_section_names[DW_SEC_ADDR]);
	if (addr.at) /* .dwo files require it */
		c->decoded_bytes += DWARF_CACHE_BYTES;
}

uint64_t dwarf_estimate_bytes(const struct dwarf_files *files)
{
	struct cost c = { 0 };

	add_file(&c, files->debug);
	if (files->alt)
		add_file(&c, files->alt);
	return smaller(smaller(c.whole_bytes, DWARF_MAX_WHOLE_BYTES) +
			       smaller(c.decoded_bytes, DWARF_CACHE_BYTES),
		       DWARF_MAX_BYTES);
}
