/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/go_text.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "elf/elf_image.h"
#include "elf/elf_relocs.h"

/* runtime.firstmoduledata (src/runtime/symtab.go): the table's address, six slices, an address, the
 * first and last pc, then the start of the code. */
#define MODULE_TEXT_AT 176
#define MODULE_CALLS_AT 320 /* 18 words later, since 1.20: go.func.* */
#define MODULE_SEARCH_MAX_BYTES (16u << 20)
#define MAX_PLACES 8 /* relocations of the table's address; for each, all relocations are read */
#define MODULE_MAX_BYTES (64u << 10) /* Go 1.26 has 592 bytes */

/* Functions by which a start is found or verified; end is 0 for missing ones. */
struct landmarks {
	struct go_func entry;   /* entry point of a pure Go program; with cgo it is C's */
	struct go_func returns; /* return address of signal handlers */
	struct go_func preempt;
};

static bool is_code(const struct elf_image *img, uint64_t addr)
{
	size_t nr;
	const struct elf_segment *loads = elf_image_loads(img, &nr);

	for (size_t i = 0; i < nr; i++)
		if ((loads[i].flags & PF_X) && addr - loads[i].vaddr < loads[i].filesz)
			return true;
	return false;
}

static struct go_func *landmark(struct landmarks *l, const char *name)
{
	if (strcmp(name, "_rt0_amd64_linux") == 0 || strcmp(name, "_rt0_arm64_linux") == 0)
		return &l->entry;
	if (strcmp(name, "runtime.sigreturn__sigaction") == 0 ||
	    strcmp(name, "runtime.sigreturn") == 0)
		return &l->returns;
	return strcmp(name, "runtime.asyncPreempt") == 0 ? &l->preempt : NULL;
}

static struct landmarks find_landmarks(const struct go_table *t)
{
	struct landmarks l = { 0 };

	for (uint32_t i = 0; i < t->nr_funcs; i++) {
		struct go_func f, *to;
		const char *name;

		if (go_table_func(t, i, &f) < 0 || !(f.flags & GO_ASM))
			continue;
		name = go_func_name(t, &f);
		to = name ? landmark(&l, name) : NULL;
		if (to)
			*to = f;
	}
	return l;
}

/* Verifies, on x86-64, that another function is where it should be. */
static bool fits_landmarks(const struct elf_image *img, const struct landmarks *l, uint64_t text)
{
	static const uint8_t begin[] = { 0x55, 0x48, 0x89, 0xe5,
					 0x9c }; /* push %rbp; mov %rsp, %rbp; pushf */
	uint8_t code[sizeof(begin)];
	uint64_t offset;

	if (!text || !is_code(img, text))
		return false;
	if (elf_image_machine(img) != EM_X86_64 || !l->preempt.end)
		return true;
	return elf_image_offset_of(img, text + l->preempt.start, &offset) == 0 &&
	       elf_image_read(img, offset, code, sizeof(code)) == 0 &&
	       memcmp(code, begin, sizeof(begin)) == 0;
}

/* A word that the loader fills in with an address within the file. */
struct word {
	uint64_t addr, value;
	uint32_t type; /* type of such a relocation */
	bool is_filled;
};

static int look_at_reloc(void *ctx, const Elf64_Rela *rela)
{
	struct word *w = ctx;

	w->is_filled = rela->r_offset == w->addr && ELF64_R_TYPE(rela->r_info) == w->type;
	if (w->is_filled)
		w->value = (uint64_t)rela->r_addend;
	return w->is_filled;
}

/* The value of a word after loading. Its value in the file is then irrelevant; some linkers leave
 * 0. */
static uint64_t loaded_word(const struct elf_image *img, uint64_t addr, uint64_t in_file)
{
	bool is_x86 = elf_image_machine(img) == EM_X86_64;
	struct word w = { .addr = addr, .type = is_x86 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE };

	(void)elf_relocs_each(img, look_at_reloc, &w);
	return w.is_filled ? w.value : in_file;
}

/* An address in the module data. 0: none, or of another table. */
static uint64_t module_word(const struct elf_image *img, const struct go_table *t, size_t at)
{
	const struct elf_section *s = elf_image_section(img, ".go.module");
	_cleanup_(buf_done) struct buf b = BUF_INIT(MODULE_MAX_BYTES);
	uint64_t table_addr, value;

	if (!s || elf_image_read_section(img, s, &b) < 0 || b.len < at + sizeof(value))
		return 0;
	memcpy(&table_addr, b.data, sizeof(table_addr));
	memcpy(&value, b.data + at, sizeof(value));
	if (loaded_word(img, s->addr, table_addr) != t->addr)
		return 0;
	return loaded_word(img, s->addr + at, value);
}

static uint64_t word_at(const struct elf_image *img, uint64_t addr)
{
	uint64_t offset, value;

	if (elf_image_offset_of(img, addr, &offset) < 0 ||
	    elf_image_read(img, offset, &value, sizeof(value)) < 0)
		value = 0;
	return loaded_word(img, addr, value);
}

/* Before 1.26 the module data is anywhere in the data. It begins with the addresses of the table
 * and of the names in it, which is unique. */
struct reloc_search {
	uint64_t table;
	uint64_t places[MAX_PLACES];
	uint32_t nr;
};

static int note_place(void *ctx, const Elf64_Rela *rela)
{
	struct reloc_search *s = ctx;

	if ((uint64_t)rela->r_addend == s->table)
		s->places[s->nr++] = rela->r_offset;
	return s->nr == MAX_PLACES;
}

static uint64_t module_by_relocs(const struct elf_image *img, const struct go_table *t)
{
	struct reloc_search s = { .table = t->addr };

	(void)elf_relocs_each(img, note_place, &s);
	for (uint32_t i = 0; i < s.nr; i++)
		if (word_at(img, s.places[i]) == t->addr &&
		    word_at(img, s.places[i] + 8) == t->addr + t->names)
			return s.places[i];
	return 0;
}

static uint64_t module_in_section(const struct elf_image *img, const struct go_table *t,
				  const char *name)
{
	const struct elf_section *s = elf_image_section(img, name);
	_cleanup_(buf_done) struct buf b = BUF_INIT(MODULE_SEARCH_MAX_BYTES);
	const uint64_t begin[] = { t->addr, t->addr + t->names };

	if (!s || elf_image_read_section(img, s, &b) < 0)
		return 0;
	for (size_t i = 0; i + sizeof(begin) <= b.len; i += sizeof(uint64_t))
		if (memcmp(b.data + i, begin, sizeof(begin)) == 0)
			return s->addr + i;
	return 0;
}

uint64_t go_text_calls(const struct elf_image *img, const struct go_table *t)
{
	uint64_t module;

	if (elf_image_section(img, ".go.module"))
		return module_word(img, t, MODULE_CALLS_AT);
	if (!t->addr)
		return 0;
	module = module_in_section(img, t, ".noptrdata");
	if (!module)
		module = module_in_section(img, t, ".data");
	if (!module)
		module = module_by_relocs(img, t);
	return module ? word_at(img, module + MODULE_CALLS_AT) : 0;
}

int go_text_find(const struct elf_image *img, const struct go_table *t,
		 const struct go_returns *returns, uint64_t *ret_text)
{
	struct landmarks l = find_landmarks(t);
	uint64_t text = loaded_word(img, t->addr + GO_HEADER_TEXT_AT, t->text);

	if (!fits_landmarks(img, &l, text))
		text = module_word(img, t, MODULE_TEXT_AT);
	if (!fits_landmarks(img, &l, text))
		text = l.entry.end ? elf_image_entry(img) - l.entry.start : 0;
	/* Much code looks like the code that signal handlers return to, so an unverified candidate
	 * does not count. */
	for (uint32_t i = 0; returns && i < returns->nr && !fits_landmarks(img, &l, text); i++)
		text = l.returns.end && l.preempt.end ? returns->addrs[i] - l.returns.start : 0;
	if (!fits_landmarks(img, &l, text))
		return -ENOENT;
	*ret_text = text;
	return 0;
}
