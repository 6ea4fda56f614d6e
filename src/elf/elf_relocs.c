/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/elf_relocs.h"

#include <errno.h>

#include "elf/elf_image.h"

#define CHUNK_RELOCS 512

static int visit_section(const struct elf_image *img, const struct elf_section *s,
			 uint64_t *nr_seen, elf_reloc_fn fn, void *ctx)
{
	Elf64_Rela chunk[CHUNK_RELOCS];
	uint64_t nr = s->size / sizeof(*chunk);
	int r = 0;

	for (uint64_t i = 0; i < nr && r == 0; i += CHUNK_RELOCS) {
		uint64_t n = nr - i < CHUNK_RELOCS ? nr - i : CHUNK_RELOCS;

		*nr_seen += n;
		if (*nr_seen > ELF_MAX_RELOCS)
			return -E2BIG;
		if (elf_image_read(img, s->offset + i * sizeof(*chunk), chunk, n * sizeof(*chunk)))
			return 0;
		for (uint64_t k = 0; k < n && r == 0; k++)
			r = fn(ctx, &chunk[k]);
	}
	return r;
}

int elf_relocs_each(const struct elf_image *img, elf_reloc_fn fn, void *ctx)
{
	uint64_t nr_seen = 0;
	int r = 0;

	if (elf_image_is_32(img))
		return 0;
	for (size_t i = 0; i < elf_image_nr_sections(img) && r == 0; i++) {
		const struct elf_section *s = elf_image_section_at(img, i);

		if (s->type == SHT_RELA && (s->flags & SHF_ALLOC))
			r = visit_section(img, s, &nr_seen, fn, ctx);
	}
	return r;
}
