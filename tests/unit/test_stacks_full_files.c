/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame information that is kept open: from where, for how many files, and for which. */
#include "stacks/full_files.h"

#include "bare_maker.h"
#include "fake_proc.h"
#include "proc/tracker.h"
#include "unwind/full_row.h"

#define MAX_FILES 32 /* as full_files.c has it */
#define NR_FILES (MAX_FILES + 1)

struct test_world {
	struct fake fake;
	struct filestore *store;
	struct full_files *files;
	uint32_t numbers[NR_FILES];
};

static const char *name_of(uint32_t i)
{
	static char name[32];

	snprintf(name, sizeof(name), "prog%u", i);
	return name;
}

/* A program whose code has the CFA at rsp + 8 * (i + 2), if it says so itself. */
static void add_file(struct test_world *w, uint32_t i, bool has_frames)
{
	struct file_hint hint = { .pid = 10, .start = 0x1000, .end = 0x2000 };
	char path[PATH_MAX], target[PATH_MAX];
	struct elf_maker m;
	struct file_key key;

	bare_begin(&m, BARE_BUILD_ID);
	bare_code(&m);
	if (has_frames)
		bare_frames(&m, false, CODE, BARE_BYTES, (uint8_t)(8 * (i % 8 + 2)));
	bare_end(&m, &w->fake, name_of(i));
	fake_link(&w->fake, "10/map_files/1000-2000", fake_path(&w->fake, name_of(i), path));
	key = fake_key(&w->fake, name_of(i));
	snprintf(target, sizeof(target), "/%s", name_of(i));
	hint.root = filestore_find_root(w->store, hint.pid);
	must(filestore_add(w->store, &key, target, NULL, &hint, &w->numbers[i]) == 0);
}

static void begin(struct test_world *w)
{
	fake_init(&w->fake);
	must(filestore_new(&w->fake.procfs, NR_FILES, &w->store) == 0);
	must(full_files_new(w->store, &w->files) == 0);
}

static void end(struct test_world *w)
{
	full_files_free(w->files);
	filestore_free(w->store);
	fake_done(&w->fake);
}

/* The offset of the CFA; negative: why there is none. */
static int64_t ask(struct test_world *w, uint32_t i)
{
	struct mapping m = { .kind = MAPPING_FILE, .file = w->numbers[i] };
	struct cfi_full_row row;
	int r = full_files_rules_at(w->files, &m, CODE + 0x10, &row);

	return r < 0 ? r : row.cfa.off;
}

/* From now on the file is another: what is kept of it answers, and what is read again is refused. */
static void spoil(struct test_world *w, uint32_t i)
{
	const struct file *file = filestore_get(w->store, w->numbers[i]);
	char path[PATH_MAX];

	must(truncate(fake_path(&w->fake, name_of(i), path), (off_t)file->size + 1) == 0);
}

static void test_oldest_goes(void)
{
	struct test_world w;
	bool all = true;

	begin(&w);
	for (uint32_t i = 0; i < NR_FILES; i++)
		add_file(&w, i, true);
	for (uint32_t i = 0; i < MAX_FILES; i++)
		all &= ask(&w, i) == 8 * (i % 8 + 2);
	ok(all, "each file has its own rows");
	(void)ask(&w, 0);
	for (uint32_t i = 0; i < MAX_FILES; i++)
		spoil(&w, i);
	ok(ask(&w, 5) == 8 * 7, "a kept file is not read again");
	ok(ask(&w, MAX_FILES) == 8 * 2, "one more file finds room");
	ok(ask(&w, 0) == 8 * 2, "recently used files stay");
	ok(ask(&w, 1) == -ENOENT,
	   "the least recently used file is dropped, and was written to since");
	ok(ask(&w, 2) == -ENOENT, "reading it again drops the next one");
	ok(ask(&w, 4) == 8 * 6, "reading it again drops no other");
	end(&w);
}

static void test_changed(void)
{
	struct test_world w;

	begin(&w);
	add_file(&w, 0, true);
	spoil(&w, 0);
	ok(ask(&w, 0) == -ENOENT, "a file written to since it was opened has no rows");
	end(&w);
}

static void begin_in_root(struct test_world *w)
{
	begin(w);
	fake_link(&w->fake, "10/root", w->fake.dir);
	add_file(w, 0, false);
}

static void test_separate(void)
{
	struct test_world w;

	begin_in_root(&w);
	ok(ask(&w, 0) == -ENOENT, "a file without CFI has no rows");
	bare_write_debug(&w.fake, BARE_BUILD_ID, 40);
	ok(ask(&w, 0) == -ENOENT, "a debug file is looked for once");
	end(&w);
	begin_in_root(&w);
	bare_write_debug(&w.fake, BARE_BUILD_ID, 40);
	ok(ask(&w, 0) == 40, "a debug file fills the gaps of a file");
	end(&w);
}

int main(void)
{
	test_oldest_goes();
	test_changed();
	if (fake_can_look_into_roots())
		test_separate();
	return tap_done();
}
