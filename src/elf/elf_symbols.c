/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/elf_symbols.h"

#include <elf.h>
#include <errno.h>

#include "elf/elf_class.h"
#include "elf/elf_internal.h"
#include "elf/elf_strings.h"

#define CHUNK_SYMBOLS 1024

/* One symbol table and its names. */
struct table {
	const struct elf_image *img;
	const struct elf_section *section;
	struct elf_strings names;
	elf_symbol_fn fn;
	void *ctx;
};

static void table_done(struct table *t)
{
	elf_strings_done(&t->names);
}

static int table_init(struct table *t, const struct elf_image *img,
		      const struct elf_section *section)
{
	t->img = img;
	t->section = section;
	if (section->entsize != elf_class_sizes(img)->sym || (section->flags & SHF_COMPRESSED) ||
	    section->link >= img->nr_sections || img->sections[section->link].type != SHT_STRTAB)
		return -EBADMSG;
	return elf_strings_init(&t->names, img, &img->sections[section->link]);
}

static bool is_in_code_section(const struct elf_image *img, const Elf64_Sym *sym)
{
	/* SHN_XINDEX, for files with over 65,000 sections, is not resolved: no linked file has
	 * relevant labels there. */
	return sym->st_shndx < img->nr_sections &&
	       (img->sections[sym->st_shndx].flags & SHF_EXECINSTR);
}

static bool is_code(const struct elf_image *img, const Elf64_Sym *sym)
{
	if (sym->st_shndx == SHN_UNDEF ||
	    (sym->st_shndx >= SHN_LORESERVE && sym->st_shndx != SHN_XINDEX))
		return false;
	switch (ELF64_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE:
		return is_in_code_section(img, sym);
	default:
		return false;
	}
}

static uint64_t section_bytes(const struct elf_image *img, const Elf64_Sym *sym)
{
	const struct elf_section *s;

	if (!is_in_code_section(img, sym))
		return 0;
	s = &img->sections[sym->st_shndx];
	return sym->st_value - s->addr < s->size ? s->size - (sym->st_value - s->addr) : 0;
}

/* "$x", "$d", "$x.17": start of code or data inside a section (ELF for the Arm 64-bit Architecture,
 * "Mapping symbols"). */
static bool is_mapping_symbol(const struct elf_image *img, const char *name)
{
	return img->machine == EM_AARCH64 && name[0] == '$' && (name[1] == 'x' || name[1] == 'd') &&
	       (name[2] == '\0' || name[2] == '.');
}

static int visit_symbol(struct table *t, const Elf64_Sym *sym)
{
	struct elf_symbol out = {
		.addr = sym->st_value,
		.size = sym->st_size,
		.bind = ELF64_ST_BIND(sym->st_info),
		.type = ELF64_ST_TYPE(sym->st_info),
	};

	if (!is_code(t->img, sym))
		return 0;
	out.section_bytes = section_bytes(t->img, sym);
	out.name = elf_strings_get(&t->names, sym->st_name);
	if (!out.name || out.name[0] == '\0' || is_mapping_symbol(t->img, out.name))
		return 0;
	return t->fn(t->ctx, &out);
}

/* In chunks, so that neither the table of a large binary nor its names are ever in memory as a
 * whole. */
static int visit_all(struct table *t, bool *ret_is_damaged)
{
	Elf64_Sym chunk[CHUNK_SYMBOLS];
	size_t bytes = elf_class_sizes(t->img)->sym;
	uint64_t nr = t->section->size / bytes;

	if (nr > ELF_MAX_SYMBOLS) {
		*ret_is_damaged = true;
		nr = ELF_MAX_SYMBOLS;
	}
	for (uint64_t i = 0; i < nr; i += CHUNK_SYMBOLS) {
		uint64_t n = nr - i < CHUNK_SYMBOLS ? nr - i : CHUNK_SYMBOLS;

		if (elf_class_read_syms(t->img, t->section->offset + i * bytes, chunk, n) < 0) {
			*ret_is_damaged = true;
			return 0;
		}
		for (uint64_t k = 0; k < n; k++) {
			int r = visit_symbol(t, &chunk[k]);

			if (r != 0)
				return r;
		}
	}
	return 0;
}

static const struct elf_section *first_of_type(const struct elf_image *img, uint32_t type)
{
	for (size_t i = 0; i < img->nr_sections; i++)
		if (img->sections[i].type == type)
			return &img->sections[i];
	return NULL;
}

int elf_symbols_each(const struct elf_image *img, elf_symbol_fn fn, void *ctx)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	bool is_damaged = false, has_table = false;

	for (size_t i = 0; i < 2; i++) {
		_cleanup_(table_done) struct table t = { 0 };
		const struct elf_section *section = first_of_type(img, types[i]);
		int r;

		if (!section)
			continue;
		has_table = true;
		r = table_init(&t, img, section);
		if (r == -ENOMEM)
			return r;
		if (r < 0) {
			is_damaged = true;
			continue;
		}
		t.fn = fn;
		t.ctx = ctx;
		r = visit_all(&t, &is_damaged);
		if (r != 0)
			return r;
	}
	if (!has_table)
		return -ENOENT;
	return is_damaged ? -EBADMSG : 0;
}
