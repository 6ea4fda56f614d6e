/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of PLT stubs, "malloc@plt", as in perf and objdump. No symbol names a stub: it jumps
 * through a slot in the data, and the relocation of that slot refers to the symbol.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "elf/elf_image.h"
#include "elf/elf_relocs.h"
#include "elf/elf_strings.h"
#include "elf/elf_symbols.h"
#include "elf/plt_stub.h"
#include "symbolize/symbolize_internal.h"

#define MAX_STUB_BYTES (4u << 20) /* per section: 256 Ki stubs; a browser has some thousands */
#define MAX_SLOTS (512u << 10)    /* relocations of slots, per file */

static const char *const sections[] = { ".plt", ".plt.sec", ".plt.got", ".plt.bnd", ".iplt" };
#define NR_SECTIONS (sizeof(sections) / sizeof(sections[0]))

/* A slot that is filled in when the program is loaded or the function is called first. */
struct slot {
	uint64_t addr;
	uint64_t resolver; /* its resolver, if it has no symbol */
	uint32_t symbol;   /* index in .dynsym; 0: none */
};

struct plt {
	const struct elf_image *img;      /* borrowed */
	const struct elf_section *dynsym; /* NULL: none that can be read */
	struct elf_strings names;         /* of dynsym */
	struct slot *slots;               /* owned; sorted by address */
	uint32_t nr_slots, cap_slots;
	elf_symbol_fn fn;
	void *ctx;
};

static void plt_done(struct plt *p)
{
	elf_strings_done(&p->names);
	free(p->slots);
}

static const struct elf_section *stubs_section(const struct elf_image *img, size_t i)
{
	const struct elf_section *s = elf_image_section(img, sections[i]);

	return s && s->type == SHT_PROGBITS && (s->flags & SHF_EXECINSTR) ? s : NULL;
}

static bool is_of_stub(uint16_t machine, uint64_t type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
		       type == R_X86_64_IRELATIVE;
	return machine == EM_AARCH64 && (type == R_AARCH64_JUMP_SLOT ||
					 type == R_AARCH64_GLOB_DAT || type == R_AARCH64_IRELATIVE);
}

/* -E2BIG: there are too many. */
static int add_slot(void *ctx, const Elf64_Rela *rela)
{
	struct plt *p = ctx;
	int r;

	if (!is_of_stub(elf_image_machine(p->img), ELF64_R_TYPE(rela->r_info)))
		return 0;
	r = ARRAY_RESERVE(p->slots, p->cap_slots, (size_t)p->nr_slots + 1, MAX_SLOTS);
	if (r == 0)
		p->slots[p->nr_slots++] = (struct slot){
			.addr = rela->r_offset,
			.resolver = (uint64_t)rela->r_addend,
			.symbol = ELF64_R_SYM(rela->r_info),
		};
	return r;
}

static int compare_addrs(const void *pa, const void *pb)
{
	const struct slot *a = pa, *b = pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* Finds the slots. Malformed or excessive data only means that names of its stubs are missing. */
static int find_slots(struct plt *p)
{
	if (elf_relocs_each(p->img, add_slot, p) == -ENOMEM)
		return -ENOMEM;
	if (p->nr_slots)
		qsort(p->slots, p->nr_slots, sizeof(*p->slots), compare_addrs);
	return 0;
}

static int find_names(struct plt *p)
{
	const struct elf_section *s = elf_image_section(p->img, ".dynsym");
	int r;

	if (!s || s->type != SHT_DYNSYM || (s->flags & SHF_COMPRESSED) ||
	    s->link >= elf_image_nr_sections(p->img) ||
	    elf_image_section_at(p->img, s->link)->type != SHT_STRTAB)
		return 0;
	r = elf_strings_init(&p->names, p->img, elf_image_section_at(p->img, s->link));
	if (r == 0)
		p->dynsym = s;
	return r == -ENOMEM ? r : 0;
}

static const char *symbol_name(struct plt *p, uint32_t i)
{
	Elf64_Sym sym;

	if (!p->dynsym || i >= p->dynsym->size / sizeof(sym) ||
	    elf_image_read(p->img, p->dynsym->offset + (uint64_t)i * sizeof(sym), &sym,
			   sizeof(sym)) < 0)
		return NULL;
	return elf_strings_get(&p->names, sym.st_name);
}

/* False if there is no name. A name ends where a version begins. */
static bool name_slot(struct plt *p, const struct slot *slot, char *to, size_t size)
{
	const char *name;
	size_t n;

	if (!slot->symbol) {
		(void)snprintf(to, size, PLT_CHOSEN "%" PRIx64 PLT_SUFFIX, slot->resolver);
		return true;
	}
	name = symbol_name(p, slot->symbol);
	n = name ? strcspn(name, "@") : 0;
	return n && (size_t)snprintf(to, size, "%.*s" PLT_SUFFIX, (int)n, name) < size;
}

static int visit_stub(struct plt *p, uint64_t addr, const struct plt_stub *stub)
{
	const struct slot *slot = NULL;
	char name[ELF_MAX_STRING_BYTES + 1];

	if (p->nr_slots)
		slot = bsearch(&(struct slot){ .addr = stub->slot }, p->slots, p->nr_slots,
			       sizeof(*p->slots), compare_addrs);
	if (!slot || !name_slot(p, slot, name, sizeof(name)))
		return 0;
	return p->fn(p->ctx, &(struct elf_symbol){ .addr = addr,
						   .size = stub->bytes,
						   .name = name,
						   .bind = STB_GLOBAL,
						   .type = STT_FUNC });
}

static int visit_section(struct plt *p, const struct elf_section *s)
{
	uint16_t machine = elf_image_machine(p->img);
	size_t align = machine == EM_X86_64 ? PLT_STUB_ALIGN_X86 : PLT_STUB_ALIGN_ARM64, step;
	_cleanup_(buf_done) struct buf b = BUF_INIT(MAX_STUB_BYTES);
	int r = elf_image_read_section(p->img, s, &b);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (size_t at = 0; at < b.len && r == 0; at += step) {
		struct plt_stub stub;

		step = align;
		if (!plt_stub_decode(machine, b.data + at, b.len - at, s->addr + at, &stub))
			continue;
		step = stub.bytes;
		r = visit_stub(p, s->addr + at, &stub);
	}
	return r;
}

int plt_names_each(const struct elf_image *img, elf_symbol_fn fn, void *ctx)
{
	_cleanup_(plt_done) struct plt p = { .img = img, .fn = fn, .ctx = ctx };
	int r;

	if (!plt_names_cost_bytes(img))
		return -ENOENT;
	r = find_names(&p);
	if (r == 0)
		r = find_slots(&p);
	for (size_t i = 0; i < NR_SECTIONS && r == 0; i++) {
		const struct elf_section *s = stubs_section(img, i);

		if (s)
			r = visit_section(&p, s);
	}
	return r;
}

uint64_t plt_names_cost_bytes(const struct elf_image *img)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < NR_SECTIONS; i++) {
		const struct elf_section *s = stubs_section(img, i);

		if (s)
			sum += s->size < MAX_STUB_BYTES ? s->size : MAX_STUB_BYTES;
	}
	return sum;
}
