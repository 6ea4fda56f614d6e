/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/full_files.h"

#include <errno.h>

#include "base/clock.h"
#include "debugfiles/debug_search.h"
#include "elf/elf_image.h"
#include "elf/vdso.h"
#include "proc/tracker.h"
#include "stacks/debug_frame.h"
#include "unwind/eh_frame.h"
#include "unwind/full_row.h"

#define MAX_FILES 32
/* for all sections; those of the largest known file have 6 MB */
#define MAX_BYTES (64u << 20)
#define FILE_MAX_CPU_NS NS_PER_S /* to open one file */
/* to open all files; afterwards a share of the session's thread */
#define FIRST_CPU_NS (2 * NS_PER_S)
#define CPU_SHARE 20
#define VDSO_FILE UINT32_MAX
#define NR_SOURCES 2

struct full_file {
	uint32_t file;                   /* number in the store, or VDSO_FILE */
	uint64_t used;                   /* last use, by a counter of uses; 0: the slot is free */
	struct cfi *sources[NR_SOURCES]; /* owned; in the order of lookup; NULL: none */
	bool has_searched;               /* a separate debug file was searched */
	size_t bytes;
};

struct full_files {
	const struct filestore *store; /* borrowed */
	uint64_t clock;
	size_t bytes;              /* of all files */
	uint64_t began_ns, cpu_ns; /* CPU time of opening files since began_ns */
	struct full_file files[MAX_FILES];
};

int full_files_new(const struct filestore *store, struct full_files **ret_files)
{
	struct full_files *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->store = store;
	f->began_ns = clock_mono_ns();
	*ret_files = f;
	return 0;
}

static void forget_full_file(struct full_files *f, struct full_file *at)
{
	f->bytes -= at->bytes;
	for (size_t i = 0; i < NR_SOURCES; i++)
		cfi_free(at->sources[i]);
	*at = (struct full_file){ 0 };
}

void full_files_forget(struct full_files *f, uint32_t file)
{
	for (size_t i = 0; i < MAX_FILES; i++)
		if (f->files[i].used && f->files[i].file == file)
			forget_full_file(f, &f->files[i]);
}

struct full_files *full_files_free(struct full_files *f)
{
	if (!f)
		return NULL;
	for (size_t i = 0; i < MAX_FILES; i++)
		forget_full_file(f, &f->files[i]);
	free(f);
	return NULL;
}

/* The order of unwind_compile()'s sources: .debug_frame fills the gaps of .eh_frame. */
static int open_sources(struct full_file *at, const struct elf_image *img)
{
	int r;

	r = cfi_open_eh_frame(img, &at->sources[0]);
	if (r == -ENOMEM)
		return r;
	r = cfi_open_debug_frame(img, img, &at->sources[1]);
	if (r == -ENOMEM)
		return r;
	for (size_t i = 0; i < NR_SOURCES; i++)
		at->bytes += at->sources[i] ? cfi_size_bytes(at->sources[i]) : 0;
	return 0;
}

/* If a file has no CFI, its separate debug file may have it, which is searched once. 0: it was
 * found. */
static int add_separate(struct full_files *f, struct full_file *at)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	const struct file *file = at->file == VDSO_FILE ? NULL : filestore_get(f->store, at->file);
	struct cfi **source = &at->sources[NR_SOURCES - 1];
	struct debug_query q;
	int r;

	if (at->has_searched || *source || !file || file->fd < 0)
		return -ENOENT;
	at->has_searched = true;
	r = elf_image_open_fd(file->fd, &img);
	if (r < 0)
		return r == -ENOMEM ? r : -ENOENT;
	q = debug_search_query(f->store, file);
	q.image = img;
	r = debug_frame_open(img, &q, source);
	if (r < 0)
		return r == -ENOMEM ? r : -ENOENT;
	at->bytes += cfi_size_bytes(*source);
	f->bytes += cfi_size_bytes(*source);
	return 0;
}

/* Opens a file. A file that cannot be read has no sources, and is not tried again. */
static int open_file(struct full_files *f, struct full_file *at)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	const struct file *file = at->file == VDSO_FILE ? NULL : filestore_get(f->store, at->file);
	int r;

	if (file && file->fd < 0)
		return 0;
	r = file ? elf_image_open_fd(file->fd, &img) : vdso_open(&img);
	if (r == 0)
		elf_image_limit(img, NULL, FILE_MAX_CPU_NS);
	if (r == 0)
		r = open_sources(at, img);
	f->bytes += at->bytes;
	/* Checked after reading, as for tables. */
	if (file && r == 0 && !file_is_unchanged(file))
		r = -ESTALE;
	if (r < 0) {
		uint32_t nr = at->file;

		forget_full_file(f, at);
		at->file = nr;
	}
	return r == -ENOMEM ? r : 0;
}

/* A free slot, or the least recently used one. */
static struct full_file *oldest_file(struct full_files *f)
{
	struct full_file *found = &f->files[0];

	for (size_t i = 1; i < MAX_FILES; i++)
		if (f->files[i].used < found->used)
			found = &f->files[i];
	return found;
}

static struct full_file *biggest_file(struct full_files *f, const struct full_file *keep)
{
	struct full_file *found = NULL;

	for (size_t i = 0; i < MAX_FILES; i++)
		if (&f->files[i] != keep && (!found || f->files[i].bytes > found->bytes))
			found = &f->files[i];
	return found;
}

static void trim_files(struct full_files *f, const struct full_file *keep)
{
	while (f->bytes > MAX_BYTES && f->bytes > keep->bytes)
		forget_full_file(f, biggest_file(f, keep));
}

/* False if the CPU time is used up: targets that need more files than are kept could have one
 * opened for every sample. */
static bool may_open(const struct full_files *f)
{
	return f->cpu_ns < FIRST_CPU_NS + (clock_mono_ns() - f->began_ns) / CPU_SHARE;
}

static int get_file(struct full_files *f, uint32_t nr, struct full_file **ret_file)
{
	struct full_file *at;
	uint64_t before_ns;
	int r;

	for (size_t i = 0; i < MAX_FILES; i++)
		if (f->files[i].used && f->files[i].file == nr) {
			f->files[i].used = ++f->clock;
			*ret_file = &f->files[i];
			return 0;
		}
	if (!may_open(f))
		return -ENOENT;
	at = oldest_file(f);
	forget_full_file(f, at);
	at->file = nr;
	before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	r = open_file(f, at);
	f->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
	if (r < 0)
		return r;
	at->used = ++f->clock;
	trim_files(f, at);
	*ret_file = at;
	return 0;
}

static int ask_sources(const struct full_file *at, uint64_t addr, struct cfi_full_row *ret_row)
{
	int r = -ENOENT;

	for (size_t i = 0; i < NR_SOURCES && r == -ENOENT; i++)
		if (at->sources[i])
			r = cfi_rules_at(at->sources[i], addr, ret_row);
	return r;
}

int full_files_rules_at(struct full_files *f, const struct mapping *m, uint64_t addr,
			struct cfi_full_row *ret_row)
{
	struct full_file *at;
	int r;

	if (m->kind != MAPPING_FILE && m->kind != MAPPING_VDSO)
		return -ENOENT;
	r = get_file(f, m->kind == MAPPING_VDSO ? VDSO_FILE : m->file, &at);
	if (r < 0)
		return r;
	r = ask_sources(at, addr, ret_row);
	if (r != -ENOENT)
		return r;
	r = add_separate(f, at);
	if (r < 0)
		return r;
	trim_files(f, at);
	return ask_sources(at, addr, ret_row);
}
