/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "fake_proc.h"
#include "proc/roots.h"

#define GONE 99 /* a PID without a folder */

static const struct build_id id_a = { .bytes = { 0xaa }, .len = 1 };
static const struct build_id id_b = { .bytes = { 0xbb }, .len = 1 };

/* A key as overlayfs and btrfs have: nothing fstat() tells is equal to it. */
static struct file_key foreign_key(uint64_t inode)
{
	return (struct file_key){ .major = 0, .minor = 77, .inode = inode };
}

static const struct file_hint hint_10 = { .pid = 10, .start = 0x1000, .end = 0x2000 };
static const struct file_hint hint_gone = { .pid = GONE, .start = 0x1000, .end = 0x2000 };

static const struct file *add(struct filestore *s, struct file_key key, const char *path,
			      const struct file_hint *hint)
{
	uint32_t id;

	must(filestore_add(s, &key, path, NULL, hint, &id) == 0);
	return filestore_get(s, id);
}

static struct filestore *new_store(const struct fake *f, unsigned int max_fds)
{
	struct filestore *s;

	must(filestore_new(&f->procfs, max_fds, &s) == 0);
	return s;
}

static void map_file(const struct fake *f, const char *name)
{
	char path[PATH_MAX];

	fake_link(f, "10/map_files/1000-2000", fake_path(f, name, path));
}

/* Content of a file is its first byte; verify() takes it for the build-id. */
static char content(const struct file *file)
{
	char byte = '?';

	if (file->fd < 0 || pread(file->fd, &byte, 1, 0) != 1)
		return '?';
	return byte;
}

static int verify(void *ctx, int fd, struct build_id *ret_id)
{
	char byte;

	++*(int *)ctx;
	if (pread(fd, &byte, 1, 0) != 1)
		return -EBADMSG;
	*ret_id = (struct build_id){ .bytes = { byte == 'A' ? 0xaa : 0xbb }, .len = 1 };
	return 0;
}

static void test_opened_once_and_kept(struct fake *f)
{
	struct filestore *s = new_store(f, 10);
	const struct file *a, *again;
	struct file_key key;
	struct stat st;
	char path[PATH_MAX];

	fake_write(f, "lib/a.so", "A");
	must(stat(fake_path(f, "lib/a.so", path), &st) == 0);
	map_file(f, "lib/a.so");
	key = fake_key(f, "lib/a.so");
	a = add(s, key, "/lib/a.so", &hint_10);
	ok(content(a) == 'A' && a->open_error == 0, "the file is opened through map_files");
	ok(a->dev == st.st_dev && a->ino == st.st_ino && a->size == 1, "and known by fstat()");
	ok(strcmp(a->path, "/lib/a.so") == 0 && !a->is_deleted, "its path is the target's");
	fake_unlink(f, "10/map_files/1000-2000");
	fake_unlink(f, "lib/a.so");
	again = add(s, key, "/lib/a.so", &hint_10);
	ok(again == a, "the kernel's key leads to it without opening again");
	ok(content(a) == 'A', "it is read after it was unlinked");
	ok(filestore_nr(s) == 1 && filestore_stats(s).nr_opened == 1, "it is one file");
	filestore_free(s);
}

static void test_replaced_file_is_another(struct fake *f)
{
	struct filestore *s = new_store(f, 10);
	const struct file *old, *new;
	char from[PATH_MAX], to[PATH_MAX];

	fake_write(f, "lib/a.so", "A");
	map_file(f, "lib/a.so");
	old = add(s, fake_key(f, "lib/a.so"), "/lib/a.so", &hint_10);
	fake_write(f, "lib/a.so.new", "B");
	must(rename(fake_path(f, "lib/a.so.new", from), fake_path(f, "lib/a.so", to)) == 0);
	new = add(s, fake_key(f, "lib/a.so"), "/lib/a.so", &hint_10);
	ok(new != old &&content(old) == 'A' && content(new) == 'B',
	   "a file that replaced another under its path is another file, and both are read");
	filestore_free(s);
}

static void test_other_names_of_one_file(struct fake *f)
{
	struct filestore *s = new_store(f, 10);
	const struct file *a, *hard;
	char from[PATH_MAX], to[PATH_MAX];

	fake_write(f, "lib/a.so", "A");
	(void)unlink(fake_path(f, "lib/hard.so", to));
	must(link(fake_path(f, "lib/a.so", from), to) == 0);
	map_file(f, "lib/a.so");
	a = add(s, fake_key(f, "lib/a.so"), "/lib/a.so", &hint_10);
	map_file(f, "lib/hard.so");
	hard = add(s, fake_key(f, "lib/hard.so"), "/lib/hard.so", &hint_10);
	ok(hard != a && hard->content == a->id && a->content == a->id,
	   "a hard link has a number of its own, of the same content");
	ok(strcmp(a->path, "/lib/a.so") == 0 && strcmp(hard->path, "/lib/hard.so") == 0,
	   "each has the path that its process sees");
	ok(hard->fd == a->fd && filestore_stats(s).nr_opened == 1,
	   "and one descriptor serves both");
	ok(add(s, fake_key(f, "lib/hard.so"), "/lib/hard.so", &hint_10) == hard,
	   "each is known again");
	fake_write(f, "lib/a.so", "Axyz"); /* in place: the inode stays */
	ok(add(s, fake_key(f, "lib/a.so"), "/other/a.so", &hint_10)->content == a->id,
	   "a file that is written to while we hold it stays the same");
	ok(filestore_nr(s) == 3, "there is one number per path");
	filestore_free(s);
}

/* What one number learns the others know. */
static void test_many_links(struct fake *f)
{
	struct filestore *s = new_store(f, 10);
	char name[32];
	const struct file *last = NULL;

	fake_write(f, "lib/a.so", "A");
	map_file(f, "lib/a.so");
	for (unsigned int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "/lib/link%u.so", i);
		last = add(s, fake_key(f, "lib/a.so"), name, &hint_10);
	}
	ok(filestore_nr(s) <= 32, "1,000 links to one file have %u numbers", filestore_nr(s));
	ok(strncmp(last->path, "/lib/link", 9) == 0 && last->fd >= 0,
	   "the last one has the path of another and is open");
	filestore_free(s);
}

static void test_views_agree(struct fake *f)
{
	struct filestore *s = new_store(f, 1);
	struct file_hint elsewhere = hint_10;
	const struct file *a, *b, *c;
	struct build_id id = { { 1, 2, 3 }, 3 };

	elsewhere.root = 7;
	fake_write(f, "lib/a.so", "A");
	fake_write(f, "lib/c.so", "C");
	map_file(f, "lib/a.so");
	a = add(s, fake_key(f, "lib/a.so"), "/lib/a.so", &hint_10);
	b = add(s, fake_key(f, "lib/a.so"), "/lib/a.so", &elsewhere);
	ok(a != b && b->content == a->id && a->root == 0 && b->root == 7,
	   "the same path in another root is another number");
	must(filestore_tell_build_id(s, b->id, &id, &elsewhere) == 0);
	ok(build_id_eq(&a->build_id, &id) && build_id_eq(&b->build_id, &id),
	   "a build-id told of one is told of both");
	map_file(f, "lib/c.so");
	c = add(s, fake_key(f, "lib/c.so"), "/lib/c.so", &hint_10);
	ok(c->fd >= 0 && a->fd < 0 && b->fd < 0 && b->open_error == EMFILE,
	   "what is closed is closed for both");
	map_file(f, "lib/a.so");
	ok(add(s, fake_key(f, "lib/a.so"), "/lib/a.so", &elsewhere) == b && b->fd >= 0 &&
		   a->fd == b->fd,
	   "and so is what is opened again");
	filestore_free(s);
}

static void hold_unlinked(struct fake *f, const char *name, int *ret_fd)
{
	char path[PATH_MAX], link[64];

	*ret_fd = open(fake_path(f, name, path), O_RDONLY);
	must(*ret_fd >= 0 && unlink(path) == 0);
	snprintf(link, sizeof(link), "/proc/%d/fd/%d", getpid(), *ret_fd);
	fake_link(f, "10/map_files/1000-2000", link);
}

static void test_deleted_suffix(struct fake *f)
{
	struct filestore *s = new_store(f, 10);
	const struct file *file;
	struct file_key key;
	int fd;

	fake_write(f, "lib/d.so", "D");
	key = fake_key(f, "lib/d.so");
	hold_unlinked(f, "lib/d.so", &fd);
	file = add(s, key, "/lib/d.so (deleted)", &hint_10);
	ok(content(file) == 'D', "an unlinked file is opened through map_files");
	ok(file->is_deleted && strcmp(file->path, "/lib/d.so") == 0,
	   "its path is what it was called before");
	close(fd);

	fake_write(f, "lib/d.so (deleted)", "L");
	map_file(f, "lib/d.so (deleted)");
	file = add(s, fake_key(f, "lib/d.so (deleted)"), "/lib/d.so (deleted)", &hint_10);
	ok(content(file) == 'L' && !file->is_deleted &&
		   strcmp(file->path, "/lib/d.so (deleted)") == 0,
	   "a file may really be called so");

	file = add(s, foreign_key(3), "/lib/e.so (deleted)", &hint_gone);
	ok(file->fd < 0 && file->is_deleted && strcmp(file->path, "/lib/e.so") == 0,
	   "unopened, with no such file around, it was deleted");
	file = add(s, foreign_key(4), " (deleted)", &hint_gone);
	ok(strcmp(file->path, " (deleted)") == 0, "the words alone are a name");
	filestore_free(s);
}

static void test_memfd(struct fake *f)
{
	struct filestore *s = new_store(f, 10);
	int fd = memfd_create("jit", MFD_CLOEXEC);
	const struct file *file;
	struct stat st;
	char link[64];

	must(fd >= 0 && write(fd, "M", 1) == 1 && fstat(fd, &st) == 0);
	snprintf(link, sizeof(link), "/proc/%d/fd/%d", getpid(), fd);
	fake_link(f, "10/map_files/1000-2000", link);
	file = add(s,
		   (struct file_key){ .major = major(st.st_dev),
				      .minor = minor(st.st_dev),
				      .inode = st.st_ino },
		   "/memfd:jit (deleted)", &hint_10);
	close(fd);
	ok(content(file) == 'M', "a memfd is opened through map_files and kept");
	ok(file->is_deleted && strcmp(file->path, "/memfd:jit") == 0, "and has its name");
	filestore_free(s);
}

static void test_range_taken_by_another_file(struct fake *f)
{
	struct filestore *s = new_store(f, 10);
	const struct file *file;
	uint32_t id;
	int nr_calls = 0;
	struct file_key key = foreign_key(5), key6 = foreign_key(6);

	fake_write(f, "lib/b.so", "B");
	map_file(f, "lib/b.so");
	file = add(s, foreign_key(4), "/lib/a.so", &hint_10);
	ok(file->fd < 0 && file->open_error == ESTALE,
	   "a range that another file has by now does not give that file");
	ok(content(add(s, foreign_key(3), "/lib/b.so", &hint_10)) == 'B',
	   "without the kernel's numbers the name in map_files decides");
	filestore_set_verifier(s, verify, &nr_calls);
	must(filestore_add(s, &key, "/lib/b.so", &id_a, &hint_10, &id) == 0);
	ok(filestore_get(s, id)->open_error == ESTALE && nr_calls > 0,
	   "nor does one of the same name with another build-id");
	must(filestore_add(s, &key6, "/lib/b.so", &id_b, &hint_10, &id) == 0);
	ok(content(filestore_get(s, id)) == 'B', "one with the right build-id does");
	filestore_free(s);
}

static void test_by_path(struct fake *f)
{
	static const struct file_hint child = { .pid = GONE, .ppid = 20, .start = 1, .end = 2 };
	struct filestore *s = new_store(f, 10);
	const struct file *file;
	char own[PATH_MAX], path[PATH_MAX];

	fake_write(f, "20/root/bin/x", "X");
	file = add(s, fake_key(f, "20/root/bin/x"), "/bin/x", &child);
	ok(content(file) == 'X', "when the process is gone, the parent's root is tried");
	fake_write(f, "own", "O");
	must(realpath(fake_path(f, "own", path), own));
	file = add(s, fake_key(f, "own"), own, &hint_gone);
	ok(content(file) == 'O', "then our own");
	file = add(s, foreign_key(8), own, &hint_gone);
	ok(file->fd < 0 && file->open_error == ESTALE,
	   "a file that only has the same path is refused");
	ok(filestore_stats(s).nr_opened == 2 && filestore_stats(s).nr_unopened == 1,
	   "what was opened and what was not is counted");
	file = add(s, foreign_key(9), "/no/such/file", &hint_gone);
	ok(file->open_error == ESRCH, "the reason is what map_files said");
	filestore_free(s);
}

static void test_generation(struct fake *f)
{
	struct filestore *s = new_store(f, 10);
	char own[PATH_MAX], path[PATH_MAX];
	long generation = 0;
	struct file_key key;
	int fd;

	fake_write(f, "own", "O");
	must(realpath(fake_path(f, "own", path), own));
	fd = open(own, O_RDONLY);
	must(fd >= 0);
	if (ioctl(fd, FS_IOC_GETVERSION, &generation) < 0) {
		tap_skip("needs a file system that tells generations");
	} else {
		key = fake_key(f, "own");
		key.has_generation = true;
		key.generation = (uint32_t)generation + 1;
		ok(add(s, key, own, &hint_gone)->open_error == ESTALE,
		   "an inode number given to a new file is no proof");
		key.generation = (uint32_t)generation;
		ok(content(add(s, key, own, &hint_gone)) == 'O', "with the generation it is");
	}
	close(fd);
	filestore_free(s);
}

static void test_by_build_id(struct fake *f)
{
	struct filestore *s = new_store(f, 10);
	char own[PATH_MAX], path[PATH_MAX];
	struct file_key key = foreign_key(8);
	const struct file *file;
	int nr_calls = 0;
	uint32_t id;

	fake_write(f, "own", "A");
	must(realpath(fake_path(f, "own", path), own));
	filestore_set_verifier(s, verify, &nr_calls);
	must(filestore_add(s, &key, own, &id_b, &hint_gone, &id) == 0);
	ok(filestore_get(s, id)->open_error == ESTALE, "another build-id is refused");
	key.inode++;
	must(filestore_add(s, &key, own, &id_a, &hint_gone, &id) == 0);
	ok(content(filestore_get(s, id)) == 'A', "an equal build-id is a proof");
	key.inode++;
	file = add(s, key, own, &hint_gone);
	must(file->fd < 0);
	ok(filestore_tell_build_id(s, file->id, &id_a, &hint_gone) == 0 && content(file) == 'A',
	   "a build-id told later opens the file");
	ok(build_id_eq(&file->build_id, &id_a), "and is noted");
	ok(filestore_tell_build_id(s, file->id, &id_b, &hint_gone) == 0 &&
		   build_id_eq(&file->build_id, &id_a),
	   "the first one told stays");
	ok(filestore_tell_build_id(s, 1000, &id_a, &hint_gone) == -EINVAL, "no file: -EINVAL");
	ok(filestore_get(s, 1000) == NULL, "and none to get");
	filestore_free(s);
}

static void test_unopened_identity(struct fake *f)
{
	struct filestore *s = new_store(f, 10);
	struct file_key key = foreign_key(30), later;
	const struct file *file, *opened;

	key.has_generation = true;
	key.generation = 7;
	file = add(s, key, "/lib/u.so", &hint_gone);
	ok(add(s, key, "/lib/u.so", &hint_gone) == file, "unopened, equal keys are one file");
	later = key;
	later.generation = 8;
	ok(add(s, later, "/lib/u.so", &hint_gone) != file, "another generation is another file");
	fake_write(f, "lib/u.so", "U");
	map_file(f, "lib/u.so");
	opened = add(s, later, "/lib/u.so", &hint_10);
	ok(content(opened) == 'U' && opened->id == 1,
	   "the next process that has it mapped gives it to us");

	key = foreign_key(31); /* as /proc/<pid>/maps has it */
	fake_write(f, "lib/v.so", "V");
	file = add(s, key, "/lib/v.so", &hint_gone);
	map_file(f, "lib/v.so");
	opened = add(s, key, "/lib/v.so", &hint_10);
	ok(opened != file && file->fd < 0 && content(opened) == 'V',
	   "without a generation the number may be a new file's");
	filestore_free(s);
}

static void test_fd_limit(struct fake *f)
{
	static const char *const names[] = { "lib/0.so", "lib/1.so", "lib/2.so" };
	struct filestore *s = new_store(f, 2);
	const struct file *file[3];
	struct file_key key[3];

	for (int i = 0; i < 3; i++) {
		fake_write(f, names[i], i == 0 ? "0" : i == 1 ? "1" : "2");
		map_file(f, names[i]);
		key[i] = fake_key(f, names[i]);
		file[i] = add(s, key[i], names[i], &hint_10);
		if (i == 1)
			add(s, key[0], names[0], &hint_10); /* used again: 1 is the oldest now */
	}
	ok(file[0]->fd >= 0 && file[1]->fd < 0 && file[2]->fd >= 0,
	   "over the limit the least recently used is closed");
	ok(file[1]->open_error == EMFILE && filestore_stats(s).nr_closed_over_limit == 1,
	   "which is said and counted");
	map_file(f, names[1]);
	ok(add(s, key[1], names[1], &hint_10) == file[1] && content(file[1]) == '1',
	   "asked for again, it is opened again and is the same");
	ok(file[0]->fd < 0, "and the next one goes");
	fake_write(f, names[0], "changed");
	map_file(f, names[0]);
	ok(add(s, key[0], names[0], &hint_10) != file[0],
	   "what changed while it was closed is another file");
	fake_unlink(f, "10/map_files/1000-2000");
	ok(add(s, key[2], names[2], &hint_gone) == file[2],
	   "closed and out of reach, the kernel's key must do");
	filestore_free(s);

	s = new_store(f, 0);
	map_file(f, names[0]);
	file[0] = add(s, key[0], names[0], &hint_10);
	ok(file[0]->fd < 0 && file[0]->ino == key[0].inode, "a limit of 0 keeps nothing open");
	filestore_free(s);
}

struct own_code {
	struct maps_entry e;
	char path[PATH_MAX];
};

static int find_own_code(void *ctx, const struct maps_entry *e)
{
	struct own_code *own = ctx;
	uint64_t here = (uint64_t)(uintptr_t)&find_own_code;

	if (here < e->start || here >= e->end)
		return 0;
	own->e = *e;
	snprintf(own->path, sizeof(own->path), "%s", e->path);
	return 1;
}

/* A path inside a root. */
static bool root_shows(const struct filestore *s, uint32_t root, const char *path)
{
	_cleanup_(closep) int fd =
		procfs_open_beneath(filestore_procfs(s), filestore_root(s, root), path, NULL);

	return fd >= 0;
}

static void test_roots_are_kept(struct fake *f)
{
	struct filestore *s = new_store(f, 8);
	uint32_t in_40, ours, again;
	char path[PATH_MAX], mapped[PATH_MAX];
	const char *inside, *outside;

	fake_write(f, "box/usr/lib/debug/x", "x");
	fake_write(f, "40/comm", "boxed\n");
	fake_link(f, "40/root", fake_path(f, "box", path));
	fake_link(f, "41/root", "/");
	in_40 = filestore_find_root(s, 40);
	ours = filestore_find_root(s, 41);
	again = filestore_find_root(s, 40);
	ok(ours == ROOT_OWN && root_shows(s, ours, "/usr/bin/env"),
	   "a process in our root is known by that");
	ok(in_40 != ROOT_OWN && in_40 != ROOT_UNKNOWN && again == in_40, "a root is held once");
	fake_unlink(f, "40/root");
	ok(root_shows(s, in_40, "/usr/lib/debug/x") && !root_shows(s, ours, "/usr/lib/debug/x"),
	   "a root can be searched when its process is gone");
	ok(filestore_find_root(s, GONE) == ROOT_UNKNOWN && filestore_root(s, ROOT_UNKNOWN) < 0,
	   "of a process that is gone it is not known, and nobody else's is taken for it");
	snprintf(mapped, sizeof(mapped), "%.*s/bin/a", 1000, path);
	inside = outside = mapped;
	ok(filestore_place(s, in_40, &inside) == in_40 && strcmp(inside, "/bin/a") == 0 &&
		   filestore_place(s, ours, &outside) == ours && outside == mapped,
	   "paths that begin with the way to a root are shortened by that");
	snprintf(mapped, sizeof(mapped), "%.*ses/bin/a", 1000, path);
	inside = mapped;
	ok(filestore_place(s, in_40, &inside) == in_40 && inside == mapped, "whole names only");
	filestore_free(s);
}

static void test_many_roots(struct fake *f)
{
	struct filestore *s = new_store(f, 8);
	char name[64], path[PATH_MAX];
	uint32_t highest = 0, nr_unknown = 0;

	for (int pid = 1000; pid < 1000 + ROOTS_MAX + 10; pid++) {
		uint32_t root;

		snprintf(name, sizeof(name), "boxes/%d/x", pid);
		fake_write(f, name, "x");
		*strrchr(name, '/') = '\0';
		fake_path(f, name, path);
		snprintf(name, sizeof(name), "%d/root", pid);
		fake_link(f, name, path);
		root = filestore_find_root(s, pid);
		nr_unknown += root == ROOT_UNKNOWN;
		highest = root != ROOT_UNKNOWN && root > highest ? root : highest;
	}
	ok(highest == ROOTS_MAX - 1, "so many roots are held (%u)", highest);
	ok(nr_unknown == 11, "those beyond are not known, and not taken for ours (%u)", nr_unknown);
	filestore_free(s);
}

static void test_ourselves(void)
{
	struct own_code own;
	struct procfs real;
	struct filestore *s;
	struct file_hint hint;
	const struct file *file;
	struct stat st;

	if (procfs_open("/proc", &real) < 0 ||
	    procfs_maps(&real, getpid(), find_own_code, &own) != 1) {
		tap_skip("needs /proc");
		return;
	}
	must(filestore_new(&real, 10, &s) == 0 && stat(own.path, &st) == 0);
	hint = (struct file_hint){ .pid = getpid(), .start = own.e.start, .end = own.e.end };
	file = add(s,
		   (struct file_key){
			   .major = own.e.major, .minor = own.e.minor, .inode = own.e.inode },
		   own.path, &hint);
	if (file->fd < 0)
		tap_skip("needs the right to follow map_files");
	else
		ok(file->ino == st.st_ino && file->dev == st.st_dev,
		   "the file behind our own code is our executable");
	filestore_free(s);
	procfs_close(&real);
}

static void run_by_path(struct fake *f)
{
	if (!fake_can_open_in_root(f)) {
		tap_skip("needs openat2()");
		return;
	}
	test_by_path(f);
	test_generation(f);
	test_by_build_id(f);
}

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
	filestore_keep(s, kept);
	filestore_unref(s, kept);
	filestore_sweep(s, is_gone, &awaited);
	ok(filestore_nr_held(s) == 3 && filestore_nr_fds(s) == 3 && !filestore_get(s, 3),
	   "a file that nobody holds is given back, with its descriptor");
	ok(filestore_get(s, held)->fd >= 0 && filestore_get(s, kept)->fd >= 0 &&
		   filestore_get(s, awaited),
	   "not one that a mapping shows, that is kept, or that somebody needs");
	filestore_unref(s, held);
	filestore_sweep(s, is_gone, &none);
	ok(!filestore_get(s, held) && !filestore_get(s, awaited) && filestore_nr_fds(s) == 1,
	   "they are when that is over");
	ok(add(s, fake_key(&f, "d"), "/d", &hint_10)->id == 4 && filestore_get(s, 4)->fd >= 0,
	   "one that comes back is another, and open again");
	ok(add(s, fake_key(&f, "b"), "/b", &hint_10)->id == kept, "one that was kept is the same");
	ok(filestore_tell_build_id(s, held, &id_a, &hint_10) == -EINVAL,
	   "nothing is told of one that is gone");
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
	   "a file is held, and open, as long as it is under another path");
	filestore_unref(s, view->id);
	filestore_sweep(s, NULL, NULL);
	ok(filestore_nr_held(s) == 0 && filestore_nr_fds(s) == 0, "it goes with the last of them");
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
	ok(is_empty, "files and their second paths go together");
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
	ok(most <= 11 && most_fds <= 11, "of 3000 files at most %u are held at a time, %u open",
	   most, most_fds);
	ok(filestore_get(s, first)->fd >= 0, "among them the one that is in use");
	filestore_free(s);
	fake_done(&f);
}

int main(void)
{
	struct fake f;

	fake_init(&f);
	test_opened_once_and_kept(&f);
	test_replaced_file_is_another(&f);
	test_other_names_of_one_file(&f);
	test_many_links(&f);
	test_views_agree(&f);
	test_deleted_suffix(&f);
	test_memfd(&f);
	test_range_taken_by_another_file(&f);
	run_by_path(&f);
	test_unopened_identity(&f);
	test_fd_limit(&f);
	if (fake_can_open_in_root(&f))
		test_roots_are_kept(&f);
	else
		tap_skip("looking into a root needs openat2(), which is not to be had");
	test_many_roots(&f);
	test_ourselves();
	fake_done(&f);
	test_released();
	test_released_views();
	test_released_pairs();
	test_released_many();
	return tap_done();
}
