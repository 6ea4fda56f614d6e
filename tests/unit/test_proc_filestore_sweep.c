/* SPDX-License-Identifier: Apache-2.0 */
/* Files without holders are released, and only those; users have so many and no more. */
#include <malloc.h>

#include "filestore_world.h"

static bool is_gone(void *ctx, uint32_t id)
{
	return id != *(uint32_t *)ctx;
}

static void test_released(void)
{
	uint32_t held, kept, awaited, none = UINT32_MAX;
	struct filestore *s;
	struct fake f;

	fake_init(&f);
	s = new_store(&f, 100);
	for (const char *name = "abcd"; *name; name++)
		fake_write(&f, (char[]){ *name, '\0' }, "x");
	map_file(&f, "a");
	held = add(s, fake_key(&f, "a"), "/a", &hint_10)->id;
	map_file(&f, "b");
	kept = add(s, fake_key(&f, "b"), "/b", &hint_10)->id;
	map_file(&f, "c");
	awaited = add(s, fake_key(&f, "c"), "/c", &hint_10)->id;
	map_file(&f, "d");
	(void)add(s, fake_key(&f, "d"), "/d", &hint_10);
	filestore_ref(s, held);
	filestore_ref(s, kept);
	filestore_ref(s, kept);
	filestore_unref(s, kept);
	filestore_sweep(s, is_gone, &awaited);
	ok(filestore_nr_held(s) == 3 && filestore_nr_fds(s) == 3 && !filestore_get(s, 3),
	   "release: a file without holders is closed");
	ok(filestore_get(s, held)->fd >= 0 && filestore_get(s, kept)->fd >= 0 &&
		   filestore_get(s, awaited),
	   "release: a mapped, kept or needed file is not closed");
	filestore_unref(s, held);
	filestore_sweep(s, is_gone, &none);
	ok(!filestore_get(s, held) && !filestore_get(s, awaited) && filestore_nr_fds(s) == 1,
	   "release: it is closed when that is over");
	ok(filestore_set_build_id(s, held, &id_a, &hint_10) == -EINVAL,
	   "release: a build-id for a released file is ignored");
	ok(content(add(s, fake_key(&f, "d"), "/d", &hint_10)) == 'x',
	   "release: a file that comes back is open");
	ok(add(s, fake_key(&f, "b"), "/b", &hint_10)->id == kept,
	   "release: a kept file keeps its number");
	filestore_free(s);
	fake_done(&f);
}

/* The same file under another path has a number of its own, and the descriptor of the first. */
static void test_released_views(void)
{
	const struct file *first, *view, *last;
	struct filestore *s;
	struct fake f;

	fake_init(&f);
	s = new_store(&f, 100);
	fake_write(&f, "a", "x");
	map_file(&f, "a");
	first = add(s, fake_key(&f, "a"), "/a", &hint_10);
	view = add(s, fake_key(&f, "a"), "/b", &hint_10);
	last = add(s, fake_key(&f, "a"), "/c", &hint_10);
	must(first != view && view->content == first->id && last->content == first->id);
	filestore_ref(s, view->id);
	filestore_sweep(s, NULL, NULL);
	ok(filestore_nr_held(s) == 2 && filestore_get(s, first->id) == first &&
		   content(view) == 'x',
	   "release: a file stays open while another path holds it");
	filestore_unref(s, view->id);
	filestore_sweep(s, NULL, NULL);
	ok(filestore_nr_held(s) == 0 && filestore_nr_fds(s) == 0,
	   "release: it is closed with the last path");
	filestore_free(s);
	fake_done(&f);
}

/* Files and their second paths, all of which nobody needs any more at the first sweep. */
static void test_released_pairs(void)
{
	bool is_empty = true;

	for (int nr = 2; nr < 40; nr++) {
		struct filestore *s;
		struct fake f;

		fake_init(&f);
		s = new_store(&f, 100);
		for (int i = 0; i < nr; i++) {
			char name[16], path[24];

			snprintf(name, sizeof(name), "f%d", i);
			fake_write(&f, name, "x");
			map_file(&f, name);
			snprintf(path, sizeof(path), "/a%d", i);
			add(s, fake_key(&f, name), path, &hint_10);
			snprintf(path, sizeof(path), "/b%d", i);
			add(s, fake_key(&f, name), path, &hint_10);
			fake_unlink(&f, name);
		}
		filestore_sweep(s, NULL, NULL);
		is_empty = is_empty && filestore_nr_held(s) == 0;
		filestore_free(s);
		fake_done(&f);
	}
	ok(is_empty, "release: files and their second paths are released together");
}

/* New files without end: what is held is what is in use. */
static void test_released_many(void)
{
	uint32_t most = 0, first = UINT32_MAX;
	unsigned int most_fds = 0;
	char name[32], path[40];
	struct filestore *s;
	struct fake f;

	fake_init(&f);
	s = new_store(&f, 100);
	for (int i = 0; i < 3000; i++) {
		const struct file *file;

		snprintf(name, sizeof(name), "f%d", i);
		snprintf(path, sizeof(path), "/%s", name);
		fake_write(&f, name, "x");
		map_file(&f, name);
		file = add(s, fake_key(&f, name), path, &hint_10);
		must(file->fd >= 0);
		filestore_ref(s, file->id);
		if (i == 0)
			first = file->id; /* in use all the time */
		else
			filestore_unref(s, file->id);
		fake_unlink(&f, name);
		if (i % 10 == 9)
			filestore_sweep(s, NULL, NULL);
		most = filestore_nr_held(s) > most ? filestore_nr_held(s) : most;
		most_fds = filestore_nr_fds(s) > most_fds ? filestore_nr_fds(s) : most_fds;
	}
	ok(most <= 11 && most_fds <= 11,
	   "release: of 3000 files at most %u are held at a time, %u open", most, most_fds);
	ok(filestore_get(s, first)->fd >= 0, "release: the file in use is among them");
	filestore_free(s);
	fake_done(&f);
}

/* The number of a released file is the next file's, and nothing leads from the old name to it. */
static void test_numbers_are_reused(void)
{
	const struct file *a, *b, *again;
	struct filestore *s;
	struct fake f;
	uint32_t number;

	fake_init(&f);
	s = new_store(&f, 100);
	fake_write(&f, "a", "A");
	fake_write(&f, "b", "B");
	map_file(&f, "a");
	number = add(s, fake_key(&f, "a"), "/a", &hint_10)->id;
	filestore_sweep(s, NULL, NULL);
	map_file(&f, "b");
	b = add(s, fake_key(&f, "b"), "/b", &hint_10);
	ok(b->id == number && filestore_nr(s) == 1, "numbers: a released one is given again");
	map_file(&f, "a");
	a = add(s, fake_key(&f, "a"), "/a", &hint_10);
	again = add(s, fake_key(&f, "b"), "/b", &hint_10);
	ok(a != b && content(a) == 'A' && a->content == a->id && again == b,
	   "numbers: the name of a released file does not lead to the next one with its number");
	filestore_free(s);
	fake_done(&f);
}

#define LONG_PATH 40000

/* Longer than the kernel's, so that few are enough; different for every nr. */
static const char *long_path(unsigned int nr)
{
	static char path[LONG_PATH];

	memset(path, 'p', sizeof(path) - 1);
	for (size_t i = 0; i < sizeof(path) - 1; i += 200)
		path[i] = '/';
	snprintf(path + LONG_PATH - 100, 100, "%08u", nr);
	return path;
}

static const struct file *add_long(struct filestore *s, unsigned int nr,
				   const struct file_hint *hint)
{
	struct file_key key = { .inode = 1000000 + nr };
	uint32_t id;
	int r = filestore_add(s, &key, long_path(nr), NULL, hint, &id);

	must(r == 0 || r == -EDQUOT);
	return r == 0 ? filestore_get(s, id) : NULL;
}

static void test_paths_are_released(void)
{
	size_t before, grown = 0;
	struct filestore *s;
	struct fake f;

	fake_init(&f);
	s = new_store(&f, 100);
	before = mallinfo2().uordblks;
	for (unsigned int i = 0; i < 1000; i++) {
		must(add_long(s, i, &hint_10));
		if (i % 10 == 9)
			filestore_sweep(s, NULL, NULL);
	}
	grown = mallinfo2().uordblks - before;
	ok(grown < (4u << 20) && filestore_nr(s) <= 20,
	   "paths: 1,000 long ones, 10 at a time, leave %zu KiB and %u numbers", grown >> 10,
	   filestore_nr(s));
	filestore_free(s);
	fake_done(&f);
}

/* Links to a file that stays: their names are not collected. */
static void test_links_are_not_collected(void)
{
	size_t before, grown;
	struct filestore *s;
	struct fake f;

	fake_init(&f);
	s = new_store(&f, 100);
	fake_write(&f, "a", "A");
	map_file(&f, "a");
	before = mallinfo2().uordblks;
	for (unsigned int i = 0; i < 300; i++)
		filestore_ref(s, add(s, fake_key(&f, "a"), long_path(i), &hint_10)->id);
	grown = mallinfo2().uordblks - before;
	ok(grown < (3u << 20) && filestore_nr(s) <= 32,
	   "paths: 300 long ones of one file occupy %zu KiB", grown >> 10);
	filestore_free(s);
	fake_done(&f);
}

static struct file_hint hint_of(uint64_t payer)
{
	struct file_hint hint = hint_10;

	hint.payer = payer;
	return hint;
}

static unsigned int add_until_refused(struct filestore *s, unsigned int from,
				      const struct file_hint *hint)
{
	const struct file *file;
	unsigned int nr = 0;

	while (nr < 100000 && (file = add_long(s, from + nr, hint))) {
		filestore_ref(s, file->id);
		nr++;
	}
	return nr;
}

static void test_files_are_charged(void)
{
	struct file_hint mallory = hint_of(1000), alice = hint_of(1001), root = hint_of(0);
	struct filestore *s;
	struct fake f;
	unsigned int nr;

	fake_init(&f);
	s = new_store(&f, 100);
	nr = add_until_refused(s, 0, &mallory);
	ok(nr > 100 && nr * (uint64_t)LONG_PATH <= FILESTORE_USER_BYTES,
	   "charge: a user who holds ever more files is refused after %u", nr);
	ok(filestore_stats(s).nr_refused == 1, "charge: refusals are counted");
	ok(add_long(s, 200000, &alice) && add_long(s, 200001, &root),
	   "charge: other users are not refused");
	ok(add_long(s, 0, &mallory) == filestore_get(s, 0),
	   "charge: a file that is already known is found over the limit too");
	for (uint32_t i = 0; i < nr; i++)
		filestore_unref(s, i);
	filestore_sweep(s, NULL, NULL);
	ok(add_long(s, 300000, &mallory), "charge: what is released is credited back");
	filestore_free(s);
	fake_done(&f);
}

/* Over the limit of open files, the user with most of them loses one. */
static void test_descriptors_are_shared(void)
{
	struct file_hint mallory = hint_of(1000), alice = hint_of(1001);
	const struct file *mine;
	struct filestore *s;
	struct fake f;

	fake_init(&f);
	s = new_store(&f, 4);
	fake_write(&f, "mine", "M");
	map_file(&f, "mine");
	mine = add(s, fake_key(&f, "mine"), "/mine", &alice);
	for (unsigned int i = 0; i < 20; i++) {
		char name[16], path[20];

		snprintf(name, sizeof(name), "f%u", i);
		snprintf(path, sizeof(path), "/%s", name);
		fake_write(&f, name, "x");
		map_file(&f, name);
		must(add(s, fake_key(&f, name), path, &mallory)->fd >= 0);
	}
	ok(content(mine) == 'M' && filestore_nr_fds(s) == 4 &&
		   filestore_stats(s).nr_closed_over_limit == 17,
	   "descriptors: a user who needs too many closes their own");
	filestore_free(s);
	fake_done(&f);
}

int main(void)
{
	test_numbers_are_reused();
	test_paths_are_released();
	test_links_are_not_collected();
	test_files_are_charged();
	test_descriptors_are_shared();
	test_released();
	test_released_views();
	test_released_pairs();
	test_released_many();
	return tap_done();
}
