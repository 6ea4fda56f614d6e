/* SPDX-License-Identifier: Apache-2.0 */
/* The root in which the files of a process are looked up. */
#include "proc/roots.h"
#include "tracker_world.h"

/* A process in a root, by what its folder in /proc shows. */
static void put_in_root(struct test_world *w, int pid, const char *root, const char *stat)
{
	char name[64];

	snprintf(name, sizeof(name), "%d/stat", pid);
	fake_write(&w->fake, name, stat);
	snprintf(name, sizeof(name), "%d/root", pid);
	fake_link(&w->fake, name, root);
}

static const struct file *file_at(const struct test_world *w, pid_t pid, uint64_t time)
{
	const struct mapping *m = mapping_at(w, pid, 0x1000, time);

	must(m && m->kind == MAPPING_FILE);
	return filestore_get(w->files, m->file);
}

static void test_roots(void)
{
	char box[PATH_MAX];
	uint32_t boxed;
	struct test_world w;

	world_init(&w);
	fake_write(&w.fake, "box/x", "x");
	fake_path(&w.fake, "box", box);
	put_in_root(&w, 50, box, "50 (x) R 1 1 1");
	put_in_root(&w, 51, "/", "51 (x) R 1 1 1");
	must(map_at(&w, 10, 50, 0x1000, 0x2000, "/bin/a") == 0);
	must(map_at(&w, 10, 51, 0x1000, 0x2000, "/bin/a") == 0);
	boxed = file_at(&w, 50, 11)->root;
	ok(file_at(&w, 51, 11)->root == ROOT_OWN && boxed != ROOT_OWN && boxed != ROOT_UNKNOWN &&
		   file_at(&w, 50, 11) != file_at(&w, 51, 11),
	   "roots: one path in two roots is two files");
	must(tracker_fork(w.t, 12, 52, 50) == 0);
	must(tracker_exec(w.t, 13, 52) == 0 && map_at(&w, 13, 52, 0x1000, 0x2000, "/bin/a") == 0);
	ok(file_at(&w, 52, 14) == file_at(&w, 50, 14),
	   "roots: a child that is gone has its parent's root");
	put_in_root(&w, 52, "/", "52 (x) R 1 1 1");
	must(map_at(&w, 15, 52, 0x1000, 0x2000, "/bin/b") == 0);
	ok(file_at(&w, 52, 15)->root == boxed, "roots: not looked up again for every mapping");
	must(tracker_exec(w.t, 16, 52) == 0 && map_at(&w, 16, 52, 0x1000, 0x2000, "/bin/a") == 0);
	ok(file_at(&w, 52, 17)->root == ROOT_OWN, "roots: looked up again after every exec");
	put_in_root(&w, 53, box, "53 (x) R 1 1 1 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 4000000000 0");
	must(map_at(&w, 18, 53, 0x1000, 0x2000, "/bin/a") == 0);
	ok(file_at(&w, 53, 19)->root == ROOT_UNKNOWN,
	   "roots: that of a later process with the PID is not used");
	must(map_at(&w, 20, 54, 0x1000, 0x2000, "/bin/a") == 0);
	ok(file_at(&w, 54, 21)->root == ROOT_UNKNOWN,
	   "roots: that of an unseen process is unknown, not ours");
	world_done(&w);
}

/* /proc shows paths from our root, the side-band from the process's. */
static void test_chroot(void)
{
	char box[PATH_MAX], maps[2 * PATH_MAX];
	const struct mapping *first;
	uint64_t image;
	struct test_world w;

	world_init(&w);
	fake_write(&w.fake, "box/x", "x");
	put_in_root(&w, 60, fake_path(&w.fake, "box", box), "60 (x) R 1 1 1");
	snprintf(maps, sizeof(maps), "1000-2000 r-xp 00000100 00:63 1234 %s/bin/a\n", box);
	fake_write(&w.fake, "60/maps", maps);
	must(tracker_scan(w.t, 10, 60) == 0);
	ok(is_at(&w, 60, 0x1000, 11, "/bin/a"),
	   "roots: a path in a chroot is as the process sees it");
	first = mapping_at(&w, 60, 0x1000, 11);
	image = image_at(&w, 60, 11);
	must(tracker_scan(w.t, 12, 60) == 0);
	ok(mapping_at(&w, 60, 0x1000, 13)->file == first->file && image_at(&w, 60, 13) == image,
	   "roots: another look changes nothing");
	world_done(&w);
}

int main(void)
{
	test_roots();
	test_chroot();
	return tap_done();
}
