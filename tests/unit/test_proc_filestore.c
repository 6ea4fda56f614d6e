/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "filestore_world.h"
#include "proc/roots.h"

#define GONE 99 /* a PID without a folder */

static const struct build_id id_b = { .bytes = { 0xbb }, .len = 1 };

/* A key as overlayfs and btrfs have: nothing fstat() tells is equal to it. */
static struct file_key foreign_key(uint64_t inode)
{
	return (struct file_key){ .major = 0, .minor = 77, .inode = inode };
}

static const struct file_hint hint_gone = { .pid = GONE, .start = 0x1000, .end = 0x2000 };

/* The first byte of a file stands for its build-id. */
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
	ok(content(a) == 'A' && a->open_error == 0, "open: through map_files");
	ok(a->dev == st.st_dev && a->ino == st.st_ino && a->size == 1,
	   "open: identified by fstat()");
	ok(strcmp(a->path, "/lib/a.so") == 0 && !a->is_deleted, "open: the path is the target's");
	fake_unlink(f, "10/map_files/1000-2000");
	fake_unlink(f, "lib/a.so");
	again = add(s, key, "/lib/a.so", &hint_10);
	ok(again == a, "the kernel's key leads to a file without opening it again");
	ok(content(a) == 'A', "a file can be read after it was unlinked");
	ok(filestore_nr(s) == 1 && filestore_nr_fds(s) == 1, "an unlinked file is one file");
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
	   "a file that replaced another under its path is another file, and both can be read");
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
	   "links: a hard link has its own number and the same content");
	ok(strcmp(a->path, "/lib/a.so") == 0 && strcmp(hard->path, "/lib/hard.so") == 0,
	   "links: each number has the path that its process sees");
	ok(hard->fd == a->fd && filestore_nr_fds(s) == 1, "links: one descriptor serves both");
	ok(add(s, fake_key(f, "lib/hard.so"), "/lib/hard.so", &hint_10) == hard,
	   "links: each number is found again");
	fake_write(f, "lib/a.so", "Axyz"); /* in place: the inode stays */
	ok(add(s, fake_key(f, "lib/a.so"), "/other/a.so", &hint_10)->content == a->id,
	   "a file that is written to while open stays the same");
	ok(filestore_nr(s) == 3, "a file has one number per path");
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
	   "the last of 1,000 links has the path of another and is open");
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
	   "roots: the same path in another root is another number");
	must(filestore_set_build_id(s, b->id, &id, &elsewhere) == 0);
	ok(build_id_eq(&a->build_id, &id) && build_id_eq(&b->build_id, &id),
	   "roots: a build-id reported for one is known for both");
	map_file(f, "lib/c.so");
	c = add(s, fake_key(f, "lib/c.so"), "/lib/c.so", &hint_10);
	ok(c->fd >= 0 && a->fd < 0 && b->fd < 0 && b->open_error == EMFILE,
	   "roots: closing closes both");
	map_file(f, "lib/a.so");
	ok(add(s, fake_key(f, "lib/a.so"), "/lib/a.so", &elsewhere) == b && b->fd >= 0 &&
		   a->fd == b->fd,
	   "roots: reopening opens both");
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
	ok(content(file) == 'D', "deleted: an unlinked file is opened through map_files");
	ok(file->is_deleted && strcmp(file->path, "/lib/d.so") == 0,
	   "deleted: its path is the one before unlinking");
	close(fd);

	fake_write(f, "lib/d.so (deleted)", "L");
	map_file(f, "lib/d.so (deleted)");
	file = add(s, fake_key(f, "lib/d.so (deleted)"), "/lib/d.so (deleted)", &hint_10);
	ok(content(file) == 'L' && !file->is_deleted &&
		   strcmp(file->path, "/lib/d.so (deleted)") == 0,
	   "deleted: a file may really be called '… (deleted)'");

	file = add(s, foreign_key(3), "/lib/e.so (deleted)", &hint_gone);
	ok(file->fd < 0 && file->is_deleted && strcmp(file->path, "/lib/e.so") == 0,
	   "deleted: if it cannot be opened and no such file exists, it was deleted");
	file = add(s, foreign_key(4), " (deleted)", &hint_gone);
	ok(strcmp(file->path, " (deleted)") == 0, "deleted: the suffix alone is a name");
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
	ok(content(file) == 'M', "memfd: opened through map_files and kept");
	ok(file->is_deleted && strcmp(file->path, "/memfd:jit") == 0, "memfd: has its name");
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
	   "reused range: another file there is refused");
	ok(content(add(s, foreign_key(3), "/lib/b.so", &hint_10)) == 'B',
	   "reused range: without the kernel's numbers the name in map_files decides");
	filestore_set_verifier(s, verify, &nr_calls);
	must(filestore_add(s, &key, "/lib/b.so", &id_a, &hint_10, &id) == 0);
	ok(filestore_get(s, id)->open_error == ESTALE && nr_calls > 0,
	   "reused range: the same name with another build-id is refused");
	must(filestore_add(s, &key6, "/lib/b.so", &id_b, &hint_10, &id) == 0);
	ok(content(filestore_get(s, id)) == 'B', "reused range: the right build-id is accepted");
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
	ok(content(file) == 'X', "process gone: the parent's root is tried");
	fake_write(f, "own", "O");
	must(realpath(fake_path(f, "own", path), own));
	file = add(s, fake_key(f, "own"), own, &hint_gone);
	ok(content(file) == 'O', "process gone: our own root is tried next");
	file = add(s, foreign_key(8), own, &hint_gone);
	ok(file->fd < 0 && file->open_error == ESTALE,
	   "process gone: a file that only has the same path is refused");
	ok(filestore_nr(s) == 3 && filestore_nr_fds(s) == 2,
	   "process gone: a refused file holds no descriptor");
	file = add(s, foreign_key(9), "/no/such/file", &hint_gone);
	ok(file->open_error == ESRCH, "process gone: the reason is the error of map_files");
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
		   "an inode number alone does not identify a file, since it may be reused");
		key.generation = (uint32_t)generation;
		ok(content(add(s, key, own, &hint_gone)) == 'O',
		   "an inode number with its generation is a proof");
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
	ok(filestore_set_build_id(s, file->id, &id_a, &hint_gone) == 0 && content(file) == 'A',
	   "a build-id reported later opens the file");
	ok(build_id_eq(&file->build_id, &id_a), "a build-id reported later is recorded");
	ok(filestore_set_build_id(s, file->id, &id_b, &hint_gone) == 0 &&
		   build_id_eq(&file->build_id, &id_a),
	   "the first build-id reported stays");
	ok(filestore_set_build_id(s, 1000, &id_a, &hint_gone) == -EINVAL,
	   "an anonymous mapping is -EINVAL");
	ok(filestore_get(s, 1000) == NULL, "a number out of range has no file");
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
	ok(add(s, key, "/lib/u.so", &hint_gone) == file, "unopened: equal keys are one file");
	later = key;
	later.generation = 8;
	ok(add(s, later, "/lib/u.so", &hint_gone) != file,
	   "unopened: another generation is another file");
	fake_write(f, "lib/u.so", "U");
	map_file(f, "lib/u.so");
	opened = add(s, later, "/lib/u.so", &hint_10);
	ok(content(opened) == 'U' && opened->id == 1,
	   "unopened: the next process that maps it opens it");

	key = foreign_key(31); /* as /proc/<pid>/maps has it */
	fake_write(f, "lib/v.so", "V");
	file = add(s, key, "/lib/v.so", &hint_gone);
	map_file(f, "lib/v.so");
	opened = add(s, key, "/lib/v.so", &hint_10);
	ok(opened != file && file->fd < 0 && content(opened) == 'V',
	   "unopened: without a generation the inode number may be reused");
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
	   "limit: the least recently used file is closed");
	ok(file[1]->open_error == EMFILE && filestore_stats(s).nr_closed_over_limit == 1,
	   "limit: the closing is reported and counted");
	map_file(f, names[1]);
	ok(add(s, key[1], names[1], &hint_10) == file[1] && content(file[1]) == '1',
	   "limit: a closed file is reopened on demand and is the same");
	ok(file[0]->fd < 0, "limit: reopening closes the next one");
	fake_write(f, names[0], "changed");
	map_file(f, names[0]);
	ok(add(s, key[0], names[0], &hint_10) != file[0],
	   "limit: a file changed while closed is another file");
	fake_unlink(f, "10/map_files/1000-2000");
	ok(add(s, key[2], names[2], &hint_gone) == file[2],
	   "limit: a closed file out of reach is identified by the kernel's key");
	filestore_free(s);

	s = new_store(f, 0);
	map_file(f, names[0]);
	file[0] = add(s, key[0], names[0], &hint_10);
	ok(file[0]->fd < 0 && file[0]->ino == key[0].inode, "limit: 0 keeps nothing open");
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
	   "roots: a process in our root has our root");
	ok(in_40 != ROOT_OWN && in_40 != ROOT_UNKNOWN && again == in_40,
	   "roots: a root is held once");
	fake_unlink(f, "40/root");
	ok(root_shows(s, in_40, "/usr/lib/debug/x") && !root_shows(s, ours, "/usr/lib/debug/x"),
	   "roots: a root can be searched when its process is gone");
	ok(filestore_find_root(s, GONE) == ROOT_UNKNOWN && filestore_root(s, ROOT_UNKNOWN) < 0,
	   "roots: the root of a process that is gone is unknown");
	snprintf(mapped, sizeof(mapped), "%.*s/bin/a", 1000, path);
	inside = outside = mapped;
	ok(filestore_place(s, in_40, &inside) == in_40 && strcmp(inside, "/bin/a") == 0 &&
		   filestore_place(s, ours, &outside) == ours && outside == mapped,
	   "roots: paths that begin with the path of a root are shortened");
	snprintf(mapped, sizeof(mapped), "%.*ses/bin/a", 1000, path);
	inside = mapped;
	ok(filestore_place(s, in_40, &inside) == in_40 && inside == mapped,
	   "roots: only whole path components are removed");
	filestore_free(s);
}

/* The root of a new process, in a directory of its own. */
static uint32_t new_root(struct fake *f, struct filestore *s, int pid, uid_t user)
{
	char name[64], path[PATH_MAX];

	snprintf(name, sizeof(name), "boxes/%d/x", pid);
	fake_write(f, name, "x");
	*strrchr(name, '/') = '\0';
	fake_path(f, name, path);
	snprintf(name, sizeof(name), "%d/root", pid);
	fake_link(f, name, path);
	*strrchr(name, '/') = '\0';
	must(chown(fake_path(f, name, path), user, (gid_t)-1) == 0);
	return filestore_find_root(s, pid);
}

static void test_roots_of_user(struct fake *f)
{
	struct filestore *s = new_store(f, 8);
	uint32_t nr[2] = { 0 };

	if (geteuid() != 0) {
		tap_skip("roots: processes of other users need root");
		filestore_free(s);
		return;
	}
	for (int user = 0; user < 2; user++)
		for (int i = 0; i < ROOTS_MAX; i++)
			nr[user] += new_root(f, s, 2000 + user * ROOTS_MAX + i, 4001 + user) !=
				    ROOT_UNKNOWN;
	ok(nr[0] == (ROOTS_MAX - 1) / 2 && nr[1] == (ROOTS_MAX - 1 - nr[0]) / 2,
	   "roots: a user holds at most half of what the others leave (%u, %u)", nr[0], nr[1]);
	ok(new_root(f, s, 5000, 4003) != ROOT_UNKNOWN && new_root(f, s, 5001, 0) != ROOT_UNKNOWN,
	   "roots: there is room for those of a third user, and of root");
	filestore_free(s);
}

static void test_many_roots(struct fake *f)
{
	struct filestore *s = new_store(f, 8);
	uint32_t highest = 0, nr_unknown = 0;

	for (int pid = 1000; pid < 1000 + ROOTS_MAX + 10; pid++) {
		uint32_t root = new_root(f, s, pid, geteuid());

		nr_unknown += root == ROOT_UNKNOWN;
		highest = root != ROOT_UNKNOWN && root > highest ? root : highest;
	}
	ok(highest == ROOTS_MAX - 1, "roots: at most this many are held (%u)", highest);
	ok(nr_unknown == 11, "roots: those beyond the limit are unknown, not ours (%u)",
	   nr_unknown);
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
	    procfs_maps(&real, getpid(), find_own_code, &own, NULL) != 1) {
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
	test_roots_of_user(&f);
	test_ourselves();
	fake_done(&f);
	return tap_done();
}
