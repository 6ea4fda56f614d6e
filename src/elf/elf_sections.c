/* SPDX-License-Identifier: Apache-2.0 */
/* The section table. The loader never uses it, so it is often truncated or broken. */
#include <elf.h>
#include <errno.h>

#include "elf/elf_class.h"
#include "elf/elf_inflate.h"
#include "elf/elf_internal.h"

#define SECTION_NAMES_MAX_BYTES (16u << 20)
#define CHUNK_SECTIONS 256

static void take_section(struct elf_section *to, const Elf64_Shdr *s)
{
	*to = (struct elf_section){
		.name = "",
		.addr = s->sh_addr,
		.offset = s->sh_offset,
		.size = s->sh_size,
		.entsize = s->sh_entsize,
		.type = s->sh_type,
		.flags = (uint32_t)s->sh_flags,
		.link = s->sh_link,
	};
}

/* name_offsets: sh_name of each section, kept until the names are read. */
static int read_table(struct elf_image *img, uint64_t offset, uint64_t nr, uint32_t *name_offsets)
{
	Elf64_Shdr chunk[CHUNK_SECTIONS];

	for (uint64_t i = 0; i < nr; i += CHUNK_SECTIONS) {
		uint64_t n = nr - i < CHUNK_SECTIONS ? nr - i : CHUNK_SECTIONS;
		int r = elf_class_read_shdrs(img, offset + i * elf_class_sizes(img)->shdr, chunk,
					     n);

		if (r < 0)
			return r;
		for (uint64_t k = 0; k < n; k++) {
			take_section(&img->sections[i + k], &chunk[k]);
			name_offsets[i + k] = chunk[k].sh_name;
		}
	}
	return 0;
}

/* Sections whose name cannot be read keep an empty name; they are still found by type. */
static int read_names(struct elf_image *img, const struct elf_section *table,
		      const uint32_t *name_offsets)
{
	if (table->type != SHT_STRTAB || (table->flags & SHF_COMPRESSED) ||
	    table->size > SECTION_NAMES_MAX_BYTES || table->offset > img->size ||
	    table->size > img->size - table->offset)
		return 0;
	img->section_names = malloc(table->size + 1);
	if (!img->section_names)
		return -ENOMEM;
	if (elf_image_read(img, table->offset, img->section_names, table->size) < 0)
		return 0;
	img->section_names[table->size] = '\0';
	for (size_t i = 0; i < img->nr_sections; i++)
		if (name_offsets[i] < table->size)
			img->sections[i].name = img->section_names + name_offsets[i];
	return 0;
}

int elf_sections_load(struct elf_image *img, uint64_t table_offset, uint64_t nr, uint64_t names_at)
{
	_cleanup_(freep) uint32_t *name_offsets = NULL;

	if (nr == 0 || nr > ELF_MAX_SECTIONS || table_offset > img->size ||
	    nr * elf_class_sizes(img)->shdr > img->size - table_offset)
		return 0;
	name_offsets = calloc(nr, sizeof(*name_offsets));
	img->sections = calloc(nr, sizeof(*img->sections));
	if (!name_offsets || !img->sections)
		return -ENOMEM;
	if (read_table(img, table_offset, nr, name_offsets) < 0)
		return 0;
	img->nr_sections = nr;
	return names_at < nr ? read_names(img, &img->sections[names_at], name_offsets) : 0;
}

size_t elf_image_nr_sections(const struct elf_image *img)
{
	return img->nr_sections;
}

const struct elf_section *elf_image_section_at(const struct elf_image *img, size_t i)
{
	return &img->sections[i];
}

const struct elf_section *elf_image_section(const struct elf_image *img, const char *name)
{
	for (size_t i = 0; i < img->nr_sections; i++)
		if (strcmp(img->sections[i].name, name) == 0)
			return &img->sections[i];
	return NULL;
}

const struct elf_section *elf_image_debug_section(const struct elf_image *img, const char *name)
{
	const struct elf_section *s = elf_image_section(img, name);

	if (s && s->type != SHT_NOBITS)
		return s;
	for (size_t i = 0; i < img->nr_sections; i++)
		if (strncmp(img->sections[i].name, ".z", 2) == 0 &&
		    strcmp(img->sections[i].name + 2, name + 1) == 0)
			return &img->sections[i];
	return NULL;
}

int elf_image_section_bytes(const struct elf_image *img, const struct elf_section *s,
			    uint64_t *ret_bytes, bool *ret_is_compressed)
{
	struct elf_packed p;
	int r = elf_packed_of(img, s, &p);

	if (r < 0)
		return r;
	*ret_bytes = p.bytes;
	*ret_is_compressed = p.how != ELF_STORED;
	return 0;
}

int elf_image_read_section(const struct elf_image *img, const struct elf_section *s, struct buf *to)
{
	struct elf_packed p;
	int r = elf_packed_of(img, s, &p);

	if (r < 0)
		return r;
	if (p.how != ELF_STORED)
		return elf_inflate(img, &p, to);
	if (p.bytes > ELF_MAX_SECTION_BYTES)
		return -E2BIG;
	r = buf_reserve(to, p.bytes);
	if (r < 0 || p.bytes == 0)
		return r;
	r = elf_image_read(img, p.offset, to->data + to->len, p.bytes);
	if (r < 0)
		return r;
	to->len += p.bytes;
	return 0;
}
