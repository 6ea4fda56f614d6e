/* SPDX-License-Identifier: Apache-2.0 */
/* The same story again and again, with the n-th allocation failing: nothing crashes, what was known
 * before is still known, and when memory is back the story can go on. */
#include "failing_alloc.h"
#include "fake_proc.h"
#include "proc/tracker.h"

static int map_pages(struct tracker *t, uint64_t time, pid_t pid, uint64_t page, uint64_t nr,
		     const char *path)
{
	struct mmap_event e = { .time_ns = time,
				.pid = pid,
				.start = page << 12,
				.end = (page + nr) << 12,
				.key = { .minor = 9, .inode = page + 1, .has_generation = true },
				.path = path };

	if (strcmp(path, "//anon") == 0)
		e.key = (struct file_key){ 0 };
	return tracker_mmap(t, &e);
}

static int story(struct tracker *t)
{
	static const struct build_id id = { .bytes = { 1 }, .len = 1 };
	int r = tracker_scan(t, 5, 10);

	for (uint64_t i = 0; i < 40 && r == 0; i++)
		r = map_pages(t, 10 + i, 10, 100 + 3 * i, 2, "/lib/x.so");
	if (r == 0)
		r = tracker_fork(t, 100, 11, 10);
	for (uint64_t i = 0; i < 20 && r == 0; i++)
		r = map_pages(t, 200 + i, 11, 101 + i, 1, i % 2 ? "//anon" : "/lib/y.so");
	if (r == 0)
		r = tracker_build_id(t, 10, 100 << 12, &id);
	if (r == 0)
		r = tracker_exec(t, 300, 11);
	if (r == 0)
		r = map_pages(t, 301, 12, 1, 1, "/bin/z");
	return r;
}

static bool is_reported(const struct tracker *t)
{
	const struct process *p = tracker_find(t, 11, 250);
	const struct mapping *m = p ? process_mapping(p, 102 << 12, 250) : NULL;

	return m && m->kind == MAPPING_ANON && tracker_find(t, 12, 301) &&
	       process_mapping(tracker_find(t, 10, 50), 0x400000, 0);
}

/* 0 or -ENOMEM; the store may also fail to come into being. */
static int run(const struct fake *f, unsigned long nth, bool *ret_is_reported)
{
	_cleanup_(filestore_freep) struct filestore *files = NULL;
	_cleanup_(tracker_freep) struct tracker *t = NULL;
	int r, again;

	nr_allocations = 0;
	fail_at = nth;
	r = filestore_new(&f->procfs, 4, &files);
	if (r == 0)
		r = tracker_new(&f->procfs, files, &t);
	if (r == 0)
		r = story(t);
	fail_at = 0;
	*ret_is_reported = true;
	if (!t)
		return r;
	again = r < 0 ? story(t) : 0;
	*ret_is_reported = again == 0 && (r < 0 || is_reported(t));
	tracker_forget(t, 1000);
	return r;
}

int main(void)
{
	struct fake f;
	bool is_right = true, is_reported_now;
	unsigned long nth = 0;
	int r;

	fake_init(&f);
	fake_write(&f, "lib/a.so", "A");
	fake_write(&f, "10/maps", "400000-500000 r-xp 00000000 00:09 5000 /lib/a.so\n");
	fake_write(&f, "10/map_files/400000-500000", "A");
	do {
		r = run(&f, ++nth, &is_reported_now);
		is_right = is_right && is_reported_now && (r == 0 || r == -ENOMEM);
	} while (r < 0 && is_right);
	ok(is_right, "whichever allocation fails, the result is -ENOMEM and a second try works");
	ok(nth > 30, "%lu allocations were failed", nth - 1);
	ok(r == 0 && is_reported_now, "with enough memory the scenario succeeds");
	fake_done(&f);
	return tap_done();
}
