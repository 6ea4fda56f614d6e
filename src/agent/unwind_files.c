/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind_files.h"

#include <elf.h>
#include <errno.h>

#include "agent/vdso.h"
#include "base/array.h"
#include "base/log.h"
#include "elf/elf_fde.h"
#include "elf/elf_symbols.h"
#include "unwind/eh_frame.h"
#include "unwind/known_code.h"

#define ENTRY_MAX_BYTES 256 /* of a program's first function, where nothing says how long */

int unwind_files_init(struct unwind_files *u, const struct filestore *store, const struct log *log)
{
	*u = (struct unwind_files){ .store = store, .log = log };
	return rule_dict_init(&u->dict);
}

static void file_done(struct unwind_file *f)
{
	f->table = unwind_table_free(f->table);
	free(f->loads);
	f->loads = NULL;
}

void unwind_files_done(struct unwind_files *u)
{
	for (uint32_t i = 0; i < u->nr; i++)
		file_done(&u->files[i]);
	file_done(&u->vdso);
	free(u->files);
	rule_dict_done(&u->dict);
	*u = (struct unwind_files){ 0 };
}

static int keep_loads(struct unwind_file *f, const struct elf_image *img)
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

static void add_root(struct unwind_file *f, uint64_t start, uint64_t end)
{
	if (f->nr_roots < UNWIND_MAX_ROOTS)
		f->roots[f->nr_roots++] = (struct code_range){ start, end };
}

/* What the kernel jumps to has no caller. Where it has a row, that says so; the loader's has none,
 * and reaches to the next function that has one. */
static void find_entry(struct unwind_file *f, const struct elf_image *img)
{
	_cleanup_(elf_fdes_freep) struct elf_fdes *fdes = NULL;
	uint64_t entry = elf_image_entry(img), end = entry + 1, from, to;

	if (!entry || elf_fdes_open(img, &fdes) < 0 || elf_fdes_find(fdes, entry, &from, &to) == 0)
		return;
	while (end < entry + ENTRY_MAX_BYTES && elf_fdes_find(fdes, end, &from, &to) < 0)
		end++;
	add_root(f, entry, end);
}

/* A goroutine returns to goexit; a thread of the runtime begins in mstart or rt0_go. */
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

static void find_roots(struct unwind_file *f, const struct elf_image *img)
{
	find_entry(f, img);
	if (elf_image_section(img, ".gopclntab"))
		(void)elf_symbols_each(img, find_go_root, f); /* stripped: the ends stay unknown */
}

bool unwind_file_is_root(const struct unwind_file *f, const struct mapping *m, uint64_t addr)
{
	uint64_t bias;

	if (unwind_file_bias(f, m, &bias) < 0)
		return false;
	for (uint32_t i = 0; i < f->nr_roots; i++)
		if (addr - bias >= f->roots[i].start && addr - bias < f->roots[i].end)
			return true;
	return false;
}

/* .eh_frame first; where it is silent, .debug_frame may speak. What is known of code without them
 * counts before both. */
static int compile(struct unwind_files *u, struct unwind_file *f, const struct elf_image *img)
{
	_cleanup_(cfi_freep) struct cfi *eh = NULL;
	_cleanup_(cfi_freep) struct cfi *debug = NULL;
	const struct cfi *sources[UNWIND_MAX_SOURCES];
	_cleanup_(known_code_done) struct known_code known = { 0 };
	size_t nr = 0;
	int r = keep_loads(f, img);

	if (r < 0)
		return r;
	r = cfi_open_eh_frame(img, &eh);
	if (r == 0)
		sources[nr++] = eh;
	else if (r == -ENOMEM)
		return r;
	r = cfi_open_debug_frame(img, img, &debug);
	if (r == 0)
		sources[nr++] = debug;
	else if (r == -ENOMEM)
		return r;
	r = known_code_find(img, &known);
	if (r == -ENOMEM)
		return r;
	if (nr == 0 && known.nr == 0)
		return -ENOENT;
	return unwind_compile_known(sources, nr, &known, &u->dict, &f->table);
}

static void compile_image(struct unwind_files *u, struct unwind_file *f,
			  const struct elf_image *img, const char *name)
{
	int r = compile(u, f, img);

	find_roots(f, img);
	f->state = r == 0 && f->table->nr_blocks ? UNWIND_READY : UNWIND_NONE;
	u->nr_compiled++;
	log_debug(u->log, "unwind: '%s': %u rows%s", name, f->table ? f->table->nr_rows : 0,
		  f->state == UNWIND_READY ? "" : ", using frame pointers");
}

static void compile_file(struct unwind_files *u, struct unwind_file *f, const struct file *file)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;

	f->state = UNWIND_NONE;
	if (file->fd < 0 || elf_image_open_fd(file->fd, &img) < 0)
		return;
	compile_image(u, f, img, file->path);
	/* Asked when all is read: what came of a file that is being written is no table. */
	if (!file_is_unchanged(file)) {
		f->state = UNWIND_NONE;
		log_debug(u->log, "unwind: '%s': it was changed, using frame pointers", file->path);
	}
}

static void compile_vdso(struct unwind_files *u)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;

	u->vdso.state = UNWIND_NONE;
	if (vdso_open(&img) == 0)
		compile_image(u, &u->vdso, img, "[vdso]");
}

struct unwind_file *unwind_files_get(struct unwind_files *u, const struct mapping *m,
				     bool compile_it)
{
	struct unwind_file *f;

	if (m->kind == MAPPING_VDSO) {
		if (compile_it && u->vdso.state == UNWIND_NOT_ASKED)
			compile_vdso(u);
		return &u->vdso;
	}
	if (m->kind != MAPPING_FILE)
		return NULL;
	if (ARRAY_RESERVE(u->files, u->cap, m->file + 1, UINT32_MAX) < 0)
		return NULL;
	while (u->nr <= m->file)
		u->files[u->nr++] = (struct unwind_file){ 0 };
	f = &u->files[m->file];
	if (compile_it && f->state == UNWIND_NOT_ASKED)
		compile_file(u, f, filestore_get(u->store, m->file));
	return f;
}

/* The segment that the mapping shows: pages before and behind it may come along. */
int unwind_file_bias(const struct unwind_file *f, const struct mapping *m, uint64_t *ret_bias)
{
	for (uint32_t i = 0; i < f->nr_loads; i++) {
		const struct elf_segment *s = &f->loads[i];

		if (s->offset >= m->offset + (m->end - m->start) ||
		    s->offset + s->filesz <= m->offset)
			continue;
		*ret_bias = m->start - m->offset + s->offset - s->vaddr;
		return 0;
	}
	return -ENOENT;
}
