/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/memory_elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define MAX_PHDRS 64
#define MAX_DYNAMIC 128
#define MAX_CHAIN 4096 /* symbols of one bucket; usually one or two */
#define MAX_NAME 64
#define PAGE_MASK ((uint64_t)sysconf(_SC_PAGESIZE) - 1)

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#else
#define OWN_MACHINE EM_AARCH64
#endif

static int read_at(const struct memory_elf *e, uint64_t addr, void *to, size_t n)
{
	return e->memory->read(e->memory->ctx, addr, to, n);
}

/* glibc stores addresses in the dynamic section, musl leaves those of the file. */
static uint64_t run_time(const struct memory_elf *e, uint64_t value)
{
	return value < e->bias ? value + e->bias : value;
}

static int read_hash(struct memory_elf *e, uint64_t hash)
{
	uint32_t header[4]; /* buckets, first symbol, words of the Bloom filter, shift */
	int r = read_at(e, hash, header, sizeof(header));

	if (r < 0)
		return r;
	e->nr_buckets = header[0];
	e->first_symbol = header[1];
	e->buckets = hash + sizeof(header) + (uint64_t)header[2] * 8;
	e->chains = e->buckets + (uint64_t)header[0] * 4;
	return e->nr_buckets ? 0 : -ENOENT;
}

static int read_dynamic(struct memory_elf *e, uint64_t addr, uint64_t bytes)
{
	Elf64_Dyn d[MAX_DYNAMIC];
	size_t n = bytes / sizeof(*d) < MAX_DYNAMIC ? bytes / sizeof(*d) : MAX_DYNAMIC;
	uint64_t hash = 0;
	int r = read_at(e, addr, d, n * sizeof(*d));

	if (r < 0)
		return r;
	for (size_t i = 0; i < n && d[i].d_tag != DT_NULL; i++) {
		uint64_t value = d[i].d_un.d_val;

		if (d[i].d_tag == DT_SYMTAB)
			e->symbols = run_time(e, value);
		else if (d[i].d_tag == DT_STRTAB)
			e->strings = run_time(e, value);
		else if (d[i].d_tag == DT_STRSZ)
			e->strings_bytes = value;
		else if (d[i].d_tag == DT_GNU_HASH)
			hash = run_time(e, value);
	}
	if (!hash || !e->symbols || !e->strings)
		return -ENOENT;
	return read_hash(e, hash);
}

static int check_header(const Elf64_Ehdr *h)
{
	if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	if (h->e_ident[EI_CLASS] == ELFCLASS32)
		return -ENOTSUP;
	if (h->e_machine != OWN_MACHINE || h->e_phentsize != sizeof(Elf64_Phdr) ||
	    h->e_phnum > MAX_PHDRS)
		return -ENOEXEC;
	return 0;
}

/* The first with these flags. */
static const Elf64_Phdr *find_phdr(const Elf64_Phdr *phdrs, unsigned int nr, uint32_t type,
				   uint32_t flags)
{
	for (unsigned int i = 0; i < nr; i++)
		if (phdrs[i].p_type == type && (phdrs[i].p_flags & flags) == flags)
			return &phdrs[i];
	return NULL;
}

int memory_elf_open(const struct memory *memory, uint64_t addr, struct memory_elf *ret_elf)
{
	struct memory_elf e = { .memory = memory };
	Elf64_Phdr phdrs[MAX_PHDRS];
	const Elf64_Phdr *dynamic, *first, *code;
	Elf64_Ehdr h;
	int r = read_at(&e, addr, &h, sizeof(h));

	if (r == 0)
		r = check_header(&h);
	if (r == 0)
		r = read_at(&e, addr + h.e_phoff, phdrs, h.e_phnum * sizeof(*phdrs));
	if (r < 0)
		return r;
	dynamic = find_phdr(phdrs, h.e_phnum, PT_DYNAMIC, 0);
	first = find_phdr(phdrs, h.e_phnum, PT_LOAD, 0);
	code = find_phdr(phdrs, h.e_phnum, PT_LOAD, PF_X);
	if (!dynamic || !first || !code || first->p_offset)
		return -ENOENT;
	e.bias = addr - first->p_vaddr;
	e.code_addr = (e.bias + code->p_vaddr) & ~PAGE_MASK;
	e.code_offset = code->p_offset & ~PAGE_MASK;
	r = read_dynamic(&e, e.bias + dynamic->p_vaddr, dynamic->p_memsz);
	if (r < 0)
		return r;
	*ret_elf = e;
	return 0;
}

/* The GNU hash of a name. */
static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

static int has_name(const struct memory_elf *e, const Elf64_Sym *sym, const char *name)
{
	size_t n = strlen(name) + 1;
	char found[MAX_NAME];
	int r;

	if (n > sizeof(found) || sym->st_name >= e->strings_bytes)
		return 0;
	r = read_at(e, e->strings + sym->st_name, found, n);
	return r < 0 ? r : memcmp(found, name, n) == 0;
}

int memory_elf_find(const struct memory_elf *e, const char *name, uint64_t *ret_addr,
		    uint64_t *ret_size)
{
	uint32_t hash = hash_of(name), at, found;
	int r = read_at(e, e->buckets + (uint64_t)(hash % e->nr_buckets) * 4, &at, sizeof(at));

	if (r < 0)
		return r;
	if (at < e->first_symbol)
		return -ENOENT;
	for (uint32_t i = 0; i < MAX_CHAIN; i++, at++) {
		Elf64_Sym sym;

		r = read_at(e, e->chains + (uint64_t)(at - e->first_symbol) * 4, &found,
			    sizeof(found));
		if (r < 0)
			return r;
		if ((found | 1) == (hash | 1)) {
			r = read_at(e, e->symbols + (uint64_t)at * sizeof(sym), &sym, sizeof(sym));
			if (r == 0)
				r = has_name(e, &sym, name);
			if (r < 0)
				return r;
			if (r && sym.st_shndx != SHN_UNDEF) {
				*ret_addr = e->bias + sym.st_value;
				*ret_size = sym.st_size;
				return 0;
			}
		}
		if (found & 1)
			break;
	}
	return -ENOENT;
}
