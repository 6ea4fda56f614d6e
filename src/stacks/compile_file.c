/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/compile_file.h"

#include <elf.h>
#include <errno.h>

#include "elf/elf_fde.h"
#include "elf/elf_image.h"
#include "elf/elf_symbols.h"
#include "elf/go_search.h"
#include "elf/vdso.h"
#include "stacks/debug_frame.h"
#include "unwind/eh_frame.h"
#include "unwind/known_code.h"
#include "unwind/x86_exit.h"

#define GHC_SECTION ".debug-ghc-link-info" /* in programs linked by GHC */

#define ENTRY_MAX_BYTES 256 /* size of a program's entry code if its length is unknown */

void compiled_file_done(struct compiled_file *f)
{
	unwind_table_free(f->table);
	free(f->loads);
	*f = (struct compiled_file){ 0 };
}

static int keep_loads(struct compiled_file *f, const struct elf_image *img)
{
	size_t nr;
	const struct elf_segment *loads = elf_image_loads(img, &nr);

	f->loads = calloc(nr + 1, sizeof(*f->loads));
	if (!f->loads)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		if (loads[i].flags & PF_X)
			f->loads[f->nr_loads++] = loads[i];
	return 0;
}

static void add_root(struct compiled_file *f, uint64_t start, uint64_t end)
{
	if (f->nr_roots < COMPILED_MAX_ROOTS)
		f->roots[f->nr_roots++] = (struct code_range){ start, end };
}

static long read_code(void *ctx, uint64_t addr, void *to, size_t n)
{
	const struct elf_image *img = ctx;
	uint64_t offset;

	if (elf_image_offset_of(img, addr, &offset) < 0 || offset >= elf_image_size(img))
		return -EFAULT;
	if (n > elf_image_size(img) - offset)
		n = (size_t)(elf_image_size(img) - offset);
	return elf_image_read(img, offset, to, n) < 0 ? -EIO : (long)n;
}

/* The end of the entry code, as far as the code shows; otherwise known functions limit it. */
static uint64_t entry_end(const struct elf_image *img, uint64_t entry, const struct elf_fdes *fdes)
{
	struct x86_code code = { read_code, (void *)(uintptr_t)img };

	if (elf_image_machine(img) == EM_X86_64)
		return x86_first_end(&code, entry, ENTRY_MAX_BYTES);
	return fdes ? entry + ENTRY_MAX_BYTES : entry;
}

/* Finds the entry point, which has no caller because the kernel jumps to it. A row for it would say
 * so; the loader and musl have none. */
static void find_entry(struct compiled_file *f, const struct elf_image *img)
{
	_cleanup_(elf_fdes_freep) struct elf_fdes *fdes = NULL;
	uint64_t entry = elf_image_entry(img), end = entry, max, from, to;

	if (!entry)
		return;
	if (elf_fdes_open(img, &fdes) < 0)
		(void)elf_fdes_scan(img, &fdes);
	max = entry_end(img, entry, fdes);
	while (end < max && (!fdes || elf_fdes_find(fdes, end, &from, &to) < 0))
		end++;
	if (end > entry)
		add_root(f, entry, end);
}

/* Finds Go's outermost functions: a goroutine returns to goexit; a thread of the runtime begins in
 * mstart or rt0_go. */
static int find_go_root(void *ctx, const struct elf_symbol *sym)
{
	static const char *const names[] = { "runtime.goexit",   "runtime.mstart",
					     "runtime.rt0_go",   "_rt0_amd64",
					     "_rt0_amd64_linux", "_rt0_arm64_linux" };
	const char *abi = strstr(sym->name, ".abi0"); /* the assembler's form of a name */
	size_t len = abi ? (size_t)(abi - sym->name) : strlen(sym->name);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && sym->size; i++)
		if (strlen(names[i]) == len && strncmp(sym->name, names[i], len) == 0)
			add_root(ctx, sym->addr, sym->addr + sym->size);
	return 0;
}

static void find_roots(struct compiled_file *f, const struct elf_image *img)
{
	struct elf_section table;

	find_entry(f, img);
	if (go_search(img, &table) == 0)
		/* in a stripped file they are unknown */
		(void)elf_symbols_each(img, find_go_root, f);
}

/* The sources of a table. */
struct sources {
	struct cfi *list[UNWIND_MAX_SOURCES]; /* owned */
	size_t nr;
	struct known_code known; /* owned; overrides all of them */
};

static void sources_done(struct sources *s)
{
	for (size_t i = 0; i < s->nr; i++)
		cfi_free(s->list[i]);
	known_code_done(&s->known);
}

/* Adds a source if r says that it exists. -ENOMEM is the only failure. */
static int add_source(struct sources *s, int r, struct cfi *cfi)
{
	if (r == 0)
		s->list[s->nr++] = cfi;
	return r == -ENOMEM ? r : 0;
}

/* .eh_frame comes first; .debug_frame fills its gaps. */
static int open_sources(const struct elf_image *img, struct sources *s)
{
	struct cfi *cfi = NULL;
	int r;

	r = cfi_open_eh_frame(img, &cfi);
	r = add_source(s, r, cfi);
	if (r < 0)
		return r;
	r = cfi_open_debug_frame(img, img, &cfi);
	r = add_source(s, r, cfi);
	if (r < 0)
		return r;
	r = known_code_find(img, &s->known);
	return r == -ENOMEM ? r : 0;
}

static int compile_sources(const struct sources *s, struct rule_dict *dict, struct compiled_file *f)
{
	const struct cfi *list[UNWIND_MAX_SOURCES];
	struct unwind_table *table = NULL;
	int r;

	if (s->nr == 0 && s->known.nr == 0)
		return -ENOENT;
	memcpy(list, s->list, sizeof(list));
	r = unwind_compile_known(list, s->nr, &s->known, dict, &table);
	if (r < 0)
		return r;
	unwind_table_free(f->table);
	f->table = table;
	return 0;
}

/* True if the file's own CFI is insufficient, which is rare: nearly all files have .eh_frame for
 * all of their code. */
static bool needs_another(const struct elf_image *img, const struct sources *s,
			  const struct compiled_file *f)
{
	static const struct unwind_stats nothing;

	return s->nr < UNWIND_MAX_SOURCES &&
	       debug_frame_is_wanted(img, f->table ? &f->table->stats : &nothing);
}

/* Adds the CFI of the separate debug file, if there is one. */
static int add_debug(const struct elf_image *img, const struct elf_image *debug, struct sources *s)
{
	struct cfi *cfi = NULL;
	int r;

	if (!debug || s->nr == UNWIND_MAX_SOURCES)
		return 0;
	r = cfi_open_debug_frame(img, debug, &cfi);
	return add_source(s, r, cfi);
}

static int compile_table(const struct elf_image *img, const struct elf_image *debug,
			 struct rule_dict *dict, struct compiled_file *f)
{
	_cleanup_(sources_done) struct sources s = { 0 };
	int r = keep_loads(f, img);

	if (r == 0)
		r = open_sources(img, &s);
	if (r == 0)
		r = add_debug(img, debug, &s);
	if (r < 0)
		return r;
	r = compile_sources(&s, dict, f);
	f->needs_another = debug || ((r == 0 || r == -ENOENT) && needs_another(img, &s, f));
	return r;
}

/* debug: NULL if there is no separate debug file. */
static void compile_image(const struct elf_image *img, const struct elf_image *debug,
			  struct rule_dict *dict, struct compiled_file *f)
{
	int r = compile_table(img, debug, dict, f);

	find_roots(f, img);
	f->has_own_stack = elf_image_section(img, GHC_SECTION) != NULL;
	if (r < 0 || !f->table || !f->table->nr_blocks)
		f->table = unwind_table_free(f->table);
}

void compile_file(const struct file *file, int debug_fd, const struct cancel *cancel,
		  struct rule_dict *dict, struct compiled_file *ret_file)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL, *debug = NULL;

	*ret_file = (struct compiled_file){ 0 };
	if (file->fd < 0 || elf_image_open_fd(file->fd, &img) < 0 || elf_image_is_32(img))
		return; /* 32-bit tasks are not unwound */
	elf_image_limit(img, cancel, COMPILE_MAX_CPU_NS);
	if (debug_fd >= 0 && elf_image_open_fd(debug_fd, &debug) == 0)
		elf_image_limit(debug, cancel, COMPILE_MAX_CPU_NS);
	compile_image(img, debug, dict, ret_file);
	ret_file->end = elf_image_end(img);
	/* Checked after reading: a file that is being written gives no table. */
	ret_file->was_changed = !file_is_unchanged(file);
	if (ret_file->was_changed || ret_file->end != WORK_GOES_ON)
		ret_file->table = unwind_table_free(ret_file->table);
}

void compile_vdso(struct rule_dict *dict, struct compiled_file *ret_file)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;

	*ret_file = (struct compiled_file){ 0 };
	if (vdso_open(&img) == 0)
		compile_image(img, NULL, dict, ret_file);
}
