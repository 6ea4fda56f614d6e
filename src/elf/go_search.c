/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go puts its table into the section .gopclntab, or .data.rel.ro.gopclntab if it contains a
 * relocated address. If the system linker links the program, because it uses cgo, its script merges
 * all .data.rel.ro.* sections. There the table is recognizable only by its first word, which other
 * data may contain as well. Therefore a candidate is accepted only if its functions agree with the
 * table about where they begin.
 */
#include "elf/go_search.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "elf/elf_internal.h"

#define SHARED_SECTION ".data.rel.ro"
#define ALIGN_BYTES 8 /* alignment: a table begins with words of that size */
#define CHUNK_BYTES 16384
#define MAX_SEARCHED_BYTES (256u << 20)
#define MAX_CANDIDATES 64 /* candidates that begin like a table; a program has one table */
#define NR_FUNCS_TRIED 16

static bool is_of_go(const struct elf_image *img)
{
	return elf_image_section(img, ".go.buildinfo") ||
	       elf_image_section(img, ".note.go.buildid");
}

/* The table's entry for a function, and the function's own data. */
static bool is_func(const struct elf_image *img, const struct elf_section *part,
		    const struct go_table *t, uint64_t i)
{
	uint64_t at = t->funcs + i * GO_FUNC_TAB_ENTRY_BYTES;
	uint32_t words[3], start; /* start of code, position of the entry, next start */

	if (at > part->size || sizeof(words) > part->size - at ||
	    elf_image_read(img, part->offset + at, words, sizeof(words)) < 0)
		return false;
	at = t->funcs + words[1];
	return words[0] < words[2] && at <= part->size && sizeof(start) <= part->size - at &&
	       elf_image_read(img, part->offset + at, &start, sizeof(start)) == 0 &&
	       start == words[0];
}

/* True if the parts follow each other as Go writes them for this machine. */
static bool is_whole(const struct elf_image *img, const struct go_table *t)
{
	return t->nr_funcs && t->quantum == (elf_image_machine(img) == EM_X86_64 ? 1 : 4) &&
	       GO_HEADER_BYTES <= t->names && t->names <= t->units && t->units <= t->files &&
	       t->files <= t->deltas && t->deltas <= t->funcs;
}

/* Checks the first functions and the last one, whose position follows from the number of functions.
 * */
static bool is_table(const struct elf_image *img, const struct elf_section *part)
{
	uint8_t header[GO_HEADER_BYTES];
	struct go_table t;

	if (part->size < sizeof(header) ||
	    elf_image_read(img, part->offset, header, sizeof(header)) < 0 ||
	    go_table_read_header(header, sizeof(header), part->size, &t) < 0 || !is_whole(img, &t))
		return false;
	for (uint32_t i = 0; i < t.nr_funcs && i < NR_FUNCS_TRIED; i++)
		if (!is_func(img, part, &t, i))
			return false;
	return is_func(img, part, &t, t.nr_funcs - 1);
}

static struct elf_section part_of(const struct elf_section *s, uint64_t at)
{
	struct elf_section part = *s;

	part.addr += at;
	part.offset += at;
	part.size -= at;
	if (part.size > GO_MAX_TABLE_BYTES)
		part.size = GO_MAX_TABLE_BYTES;
	return part;
}

/* n bytes at an offset of a section. -ENOENT: outside of it; -E2BIG: too expensive to try. */
static int search_chunk(const struct elf_image *img, const struct elf_section *s, uint64_t at,
			const uint8_t *chunk, size_t n, uint32_t *nr_tried,
			struct elf_section *ret_part)
{
	for (size_t i = 0; i + ALIGN_BYTES <= n; i += ALIGN_BYTES) {
		struct elf_section part;

		if (!go_table_is_begin(chunk + i))
			continue;
		part = part_of(s, at + i);
		if (is_table(img, &part)) {
			*ret_part = part;
			return 0;
		}
		if (++*nr_tried == MAX_CANDIDATES)
			return -E2BIG;
	}
	return -ENOENT;
}

static int search_section(const struct elf_image *img, const struct elf_section *s,
			  struct elf_section *ret_part)
{
	uint8_t chunk[CHUNK_BYTES];
	uint32_t nr_tried = 0;
	int r = -ENOENT;

	for (uint64_t at = -s->addr % ALIGN_BYTES;
	     r == -ENOENT && at < s->size && at < MAX_SEARCHED_BYTES; at += sizeof(chunk)) {
		size_t n = s->size - at < sizeof(chunk) ? s->size - at : sizeof(chunk);

		if (elf_image_read(img, s->offset + at, chunk, n) < 0)
			return -ENOENT; /* truncated */
		r = search_chunk(img, s, at, chunk, n, &nr_tried, ret_part);
	}
	return r < 0 ? -ENOENT : 0;
}

static int search_image(const struct elf_image *img, struct elf_section *ret_section)
{
	const struct elf_section *s = elf_image_section(img, ".gopclntab");

	if (!s)
		s = elf_image_section(img, SHARED_SECTION ".gopclntab");
	if (s) {
		*ret_section = *s;
		return 0;
	}
	s = is_of_go(img) ? elf_image_section(img, SHARED_SECTION) : NULL;
	if (!s || s->type != SHT_PROGBITS || (s->flags & SHF_COMPRESSED))
		return -ENOENT;
	return search_section(img, s, ret_section);
}

int go_search(const struct elf_image *img, struct elf_section *ret_section)
{
	struct elf_meter *m = img->meter;

	if (!m->has_searched_go)
		m->go_result = search_image(img, &m->go_table);
	m->has_searched_go = true;
	if (m->go_result == 0)
		*ret_section = m->go_table;
	return m->go_result;
}

int go_search_load(const struct elf_image *img, struct buf *to, struct go_table *ret_table)
{
	struct elf_section s;
	int r = go_search(img, &s);

	if (r == 0)
		r = elf_image_read_section(img, &s, to);
	if (r == 0)
		r = go_table_open(to->data, to->len, ret_table);
	if (r == 0)
		ret_table->addr = s.addr;
	return r;
}
