/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <sys/mman.h>
#include <time.h>

#include "fake_proc.h"
#include "proc/roots.h"
#include "proc/tracker.h"

struct world {
	struct fake fake;
	struct filestore *files;
	struct tracker *t;
};

static void world_init(struct world *w)
{
	fake_init(&w->fake);
	must(filestore_new(&w->fake.procfs, 100, &w->files) == 0);
	must(tracker_new(&w->fake.procfs, w->files, &w->t) == 0);
}

static void world_done(struct world *w)
{
	tracker_free(w->t);
	filestore_free(w->files);
	fake_done(&w->fake);
}

static int map_key(struct world *w, uint64_t start, uint64_t end, const char *path,
		   struct file_key key)
{
	struct mmap_event e = { .time_ns = 10, .pid = 5, .start = start, .end = end };

	e.path = path;
	e.offset = 0x100;
	e.key = key;
	return tracker_mmap(w->t, &e);
}

/* The inode is made of the path, as if every path were a file of its own; what is no path has none. */
static int map_at(struct world *w, uint64_t time, pid_t pid, uint64_t start, uint64_t end,
		  const char *path)
{
	bool has_file = path[0] == '/' && path[1] != '/';
	struct file_key key = { .minor = 99, .inode = 1000, .has_generation = true };
	struct mmap_event e = { .time_ns = time, .pid = pid, .start = start, .end = end };

	for (const char *s = path; *s; s++)
		key.inode = key.inode * 31 + (unsigned char)*s;
	e.path = path;
	e.offset = 0x100;
	e.key = has_file ? key : (struct file_key){ .has_generation = true };
	return tracker_mmap(w->t, &e);
}

static const struct mapping *mapping_at(const struct world *w, pid_t pid, uint64_t addr,
					uint64_t time)
{
	const struct process *p = tracker_find(w->t, pid, time);

	return p ? process_mapping(p, addr, time) : NULL;
}

/* The path mapped there then; "" for no mapping, "#" for no file. */
static const char *at(const struct world *w, pid_t pid, uint64_t addr, uint64_t time)
{
	const struct mapping *m = mapping_at(w, pid, addr, time);

	if (!m)
		return "";
	return m->kind == MAPPING_FILE ? filestore_get(w->files, m->file)->path : "#";
}

static bool is_at(const struct world *w, pid_t pid, uint64_t addr, uint64_t time, const char *path)
{
	const char *found = at(w, pid, addr, time);

	if (strcmp(found, path) == 0)
		return true;
	printf("# pid %d addr 0x%lx time %lu: '%s', not '%s'\n", (int)pid, (unsigned long)addr,
	       (unsigned long)time, found, path);
	return false;
}

static uint64_t image_at(const struct world *w, pid_t pid, uint64_t time)
{
	return process_image(tracker_find(w->t, pid, time), time);
}

static void test_dlopen_and_reuse_of_the_range(void)
{
	struct world w;
	const struct mapping *m;

	world_init(&w);
	must(map_at(&w, 10, 5, 0x1000, 0x2000, "/exe") == 0);
	must(map_at(&w, 20, 5, 0x8000, 0xc000, "/liba") == 0);
	ok(is_at(&w, 5, 0x9000, 20, "/liba"), "dlopen: the library is there from its time on");
	ok(is_at(&w, 5, 0x9000, 19, ""), "and not before");
	ok(is_at(&w, 5, 0xc000, 20, ""), "the end does not belong to it");
	ok(image_at(&w, 5, 20) == image_at(&w, 5, 10), "what is added does not change the image");
	must(map_at(&w, 30, 5, 0x9000, 0xa000, "/libb") == 0);
	ok(image_at(&w, 5, 30) != image_at(&w, 5, 29), "what replaces something does");
	must(map_at(&w, 31, 5, 0x20000, 0x24000, "//anon") == 0);
	must(map_at(&w, 32, 5, 0x21000, 0x22000, "//anon") == 0);
	ok(image_at(&w, 5, 32) == image_at(&w, 5, 30), "a JIT's code in place of a JIT's does not");
	must(map_at(&w, 33, 5, 0x22000, 0x23000, "/libb") == 0);
	ok(image_at(&w, 5, 33) != image_at(&w, 5, 32), "a file's does");
	ok(is_at(&w, 5, 0x9fff, 30, "/libb"), "dlclose and reuse: the new library has the range");
	ok(is_at(&w, 5, 0x9fff, 29, "/liba"), "a sample from before is the old one's");
	ok(is_at(&w, 5, 0x8fff, 30, "/liba") && is_at(&w, 5, 0xa000, 30, "/liba"),
	   "what is left of the old one on both sides stays");
	m = mapping_at(&w, 5, 0xa000, 30);
	ok(m && m->offset == 0x100 + 0x2000 && m->since_ns == 20,
	   "with the offset that belongs to it, and its age");
	ok(is_at(&w, 5, 0x1000, 15, "/exe") && is_at(&w, 5, 0x1000, 35, "/exe"),
	   "the rest is as it was");
	must(map_at(&w, 40, 5, 0x0, 0x10000, "/big") == 0);
	ok(is_at(&w, 5, 0x9fff, 40, "/big") && is_at(&w, 5, 0x9fff, 39, "/libb") &&
		   is_at(&w, 5, 0x9fff, 29, "/liba") && is_at(&w, 5, 0x9fff, 19, ""),
	   "each time has its own answer");
	must(map_at(&w, 50, 5, 0x0, 0x10000, "/big") == 0);
	ok(mapping_at(&w, 5, 0, 50)->since_ns == 40, "the same again changes nothing");
	world_done(&w);
}

/* A walk that knew an older image holds as far as its own code was not replaced. */
static void test_code_of_an_image(void)
{
	struct world w;
	const struct process *p;
	uint64_t image;

	world_init(&w);
	map_at(&w, 10, 5, 0x1000, 0x2000, "/main");
	map_at(&w, 11, 5, 0x3000, 0x4000, "/one");
	image = image_at(&w, 5, 11);
	map_at(&w, 20, 5, 0x3800, 0x4800, "/two");
	p = tracker_find(w.t, 5, 20);
	must(p && image_at(&w, 5, 20) != image);
	ok(process_has_code_of(p, 0x1800, 20, image), "code that stayed is the image's");
	ok(process_has_code_of(p, 0x3400, 20, image), "what was left of a mapping is");
	ok(!process_has_code_of(p, 0x3c00, 20, image), "code that replaced some is not");
	ok(!process_has_code_of(p, 0x4400, 20, image), "nor is code where none was");
	ok(process_has_code_of(p, 0x3c00, 19, image), "what was replaced was the image's before");
	ok(!process_has_code_of(p, 0x2800, 20, image), "where nothing is mapped, nothing is");
	ok(!process_has_code_of(p, 0x1800, 20, image + 1000), "nothing is of an unknown image");
	world_done(&w);
}

static void test_exec(void)
{
	struct world w;
	const struct process *p;
	uint64_t id, image;

	world_init(&w);
	must(map_at(&w, 10, 5, 0x1000, 0x2000, "/old") == 0);
	p = tracker_find(w.t, 5, 10);
	id = process_id(p);
	image = process_image(p, 10);
	must(tracker_exec(w.t, 20, 5) == 0);
	must(map_at(&w, 21, 5, 0x1000, 0x2000, "/new") == 0);
	p = tracker_find(w.t, 5, 21);
	ok(process_id(p) == id, "exec: the process stays the same");
	ok(process_image(p, 20) != image && process_image(p, 19) == image,
	   "the image changes at that moment");
	ok(is_at(&w, 5, 0x1000, 19, "/old"), "before, the old image's code is there");
	ok(is_at(&w, 5, 0x1000, 20, ""), "then nothing");
	ok(is_at(&w, 5, 0x1000, 21, "/new"), "then the new image's");
	ok(tracker_exec(w.t, 30, 6) == 0 && tracker_find(w.t, 6, 30) &&
		   process_image(tracker_find(w.t, 6, 30), 30) !=
			   process_image(tracker_find(w.t, 6, 29), 29),
	   "exec of an unknown process makes it known");
	world_done(&w);
}

static void test_fork(void)
{
	struct world w;

	world_init(&w);
	must(map_at(&w, 10, 5, 0x1000, 0x2000, "/exe") == 0);
	must(tracker_fork(w.t, 20, 6, 5) == 0);
	ok(is_at(&w, 6, 0x1000, 20, "/exe"), "a child has its parent's mappings");
	ok(mapping_at(&w, 6, 0x1000, 20) == mapping_at(&w, 5, 0x1000, 20),
	   "the very same: they are shared");
	ok(tracker_find(w.t, 6, 19) == NULL, "it was not there before");
	ok(process_parent(tracker_find(w.t, 6, 20)) == 5, "its parent is known");
	ok(process_id(tracker_find(w.t, 6, 20)) != process_id(tracker_find(w.t, 5, 20)),
	   "it is another process");
	ok(process_image(tracker_find(w.t, 6, 20), 20) ==
		   process_image(tracker_find(w.t, 5, 20), 20),
	   "and runs the same image");
	must(map_at(&w, 30, 6, 0x3000, 0x4000, "/of_child") == 0);
	ok(is_at(&w, 6, 0x3000, 30, "/of_child") && is_at(&w, 5, 0x3000, 30, ""),
	   "what the child maps is not the parent's");
	must(map_at(&w, 40, 5, 0x1000, 0x2000, "/of_parent") == 0);
	ok(is_at(&w, 5, 0x1000, 40, "/of_parent") && is_at(&w, 6, 0x1000, 40, "/exe"),
	   "what the parent maps is not the child's");
	must(tracker_exec(w.t, 50, 6) == 0);
	must(map_at(&w, 51, 6, 0x1000, 0x2000, "/execd") == 0);
	ok(is_at(&w, 6, 0x1000, 49, "/exe") && is_at(&w, 6, 0x1000, 51, "/execd") &&
		   is_at(&w, 5, 0x1000, 51, "/of_parent"),
	   "fork, then exec in the child: each has its own, at each time");
	ok(process_image(tracker_find(w.t, 6, 51), 51) !=
		   process_image(tracker_find(w.t, 5, 51), 51),
	   "and its own image");
	ok(tracker_fork(w.t, 60, 7, 7) == -EINVAL, "nobody is their own parent");
	world_done(&w);
}

static void test_origin(void)
{
	struct process_origin o;
	struct world w;

	world_init(&w);
	must(map_at(&w, 10, 5, 0x1000, 0x2000, "/exe") == 0);
	must(tracker_exec(w.t, 15, 5) == 0);
	ok(!process_origin(tracker_find(w.t, 5, 20), 20, &o),
	   "origin: of who was found, not known");
	must(tracker_fork(w.t, 20, 6, 5) == 0 && tracker_exec(w.t, 30, 5) == 0);
	ok(process_origin(tracker_find(w.t, 6, 40), 40, &o) && o.pid == 5 && o.fork_ns == 20 &&
		   o.program == process_program(tracker_find(w.t, 5, 20), 20) &&
		   o.program != process_program(tracker_find(w.t, 5, 40), 40),
	   "origin: the program that its parent ran at the fork");
	must(tracker_exec(w.t, 50, 6) == 0);
	ok(process_origin(tracker_find(w.t, 6, 40), 40, &o) &&
		   !process_origin(tracker_find(w.t, 6, 60), 60, &o),
	   "origin: until an exec of its own");
	world_done(&w);
}

static void test_jitdumps(void)
{
	struct world w;

	world_init(&w);
	must(map_at(&w, 10, 5, 0x1000, 0x2000, "/tmp/jit-5.dump") == 0);
	must(map_at(&w, 10, 5, 0x3000, 0x4000, "/tmp/jit-x.dump") == 0);
	must(map_at(&w, 10, 5, 0x5000, 0x6000, "/jit-5.dump/jit-.dump") == 0);
	ok(process_nr_jitdumps(tracker_find(w.t, 5, 20), 20) == 1,
	   "jitdumps are known by their name");
	must(tracker_fork(w.t, 30, 6, 5) == 0);
	ok(process_nr_jitdumps(tracker_find(w.t, 6, 30), 30) == 0 &&
		   mapping_at(&w, 6, 0x1000, 30)->is_jitdump,
	   "what a child inherits is not its own");
	must(map_at(&w, 40, 6, 0x7000, 0x8000, "/tmp/jit-6.dump") == 0);
	ok(process_nr_jitdumps(tracker_find(w.t, 6, 40), 40) == 1 &&
		   process_nr_jitdumps(tracker_find(w.t, 5, 40), 40) == 1,
	   "what it maps is");
	must(tracker_exec(w.t, 50, 6) == 0);
	ok(process_nr_jitdumps(tracker_find(w.t, 6, 60), 60) == 0, "until an exec");
	world_done(&w);
}

static void test_pid_reuse(void)
{
	struct world w;
	uint64_t first;

	world_init(&w);
	must(map_at(&w, 10, 5, 0x1000, 0x2000, "/parent") == 0);
	must(map_at(&w, 10, 6, 0x1000, 0x2000, "/first") == 0);
	first = process_id(tracker_find(w.t, 6, 10));
	must(tracker_exit(w.t, 20, 6) == 0);
	ok(is_at(&w, 6, 0x1000, 15, "/first"), "a process that exited is still known");
	ok(is_at(&w, 6, 0x1000, 25, "/first"), "also for threads that outlive the first one");
	must(tracker_fork(w.t, 30, 6, 5) == 0);
	ok(process_id(tracker_find(w.t, 6, 30)) != first, "a reused PID is another process");
	ok(is_at(&w, 6, 0x1000, 30, "/parent") && is_at(&w, 6, 0x1000, 29, "/first"),
	   "and each time has its own");
	must(tracker_fork(w.t, 40, 6, 5) == 0);
	ok(tracker_nr_processes(w.t) == 4, "a fork ends a process whose exit was lost");
	must(map_at(&w, 41, 6, 0x1000, 0x2000, "/third") == 0);
	ok(is_at(&w, 6, 0x1000, 35, "/parent") && is_at(&w, 6, 0x1000, 41, "/third"),
	   "three processes of one PID are kept apart");
	world_done(&w);
}

static void test_late_events(void)
{
	struct world w;

	world_init(&w);
	must(map_at(&w, 100, 5, 0x1000, 0x2000, "/a") == 0);
	must(map_at(&w, 90, 5, 0x1000, 0x2000, "/b") == 0);
	ok(is_at(&w, 5, 0x1000, 100, "/b") && is_at(&w, 5, 0x1000, 99, ""),
	   "an event that comes late counts from the newest time on");
	must(map_at(&w, 50, 6, 0x1000, 0x2000, "/c") == 0);
	ok(is_at(&w, 6, 0x1000, 50, "/c"), "another process has a clock of its own");
	must(tracker_exit(w.t, 110, 5) == 0);
	must(map_at(&w, 105, 5, 0x5000, 0x6000, "/late") == 0);
	ok(tracker_nr_processes(w.t) == 2 && is_at(&w, 5, 0x5000, 110, "/late"),
	   "a mapping from before the exit that comes after it belongs to the process");
	world_done(&w);
}

static void test_kinds(void)
{
	static const struct {
		const char *path;
		enum mapping_kind kind;
	} cases[] = {
		{ "//anon", MAPPING_ANON },
		{ "", MAPPING_ANON },
		{ "[heap]", MAPPING_ANON },
		{ "[stack]", MAPPING_ANON },
		{ "[anon:v8]", MAPPING_ANON },
		{ "[anon_shmem:jit]", MAPPING_ANON },
		{ "/dev/zero (deleted)", MAPPING_FILE },
		{ "/anon_hugepage (deleted)", MAPPING_FILE },
		{ "/SYSV00000000 (deleted)", MAPPING_FILE },
		{ "[vdso]", MAPPING_VDSO },
		{ "[uprobes]", MAPPING_OTHER },
		{ "[vsyscall]", MAPPING_OTHER },
		{ "/memfd:doublemapper (deleted)", MAPPING_FILE },
		{ "/usr/lib/libc.so.6", MAPPING_FILE },
	};
	struct world w;

	world_init(&w);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct mapping *m;

		must(map_at(&w, 10, 5, 0x1000 * (i + 1), 0x1000 * (i + 2), cases[i].path) == 0);
		m = mapping_at(&w, 5, 0x1000 * (i + 1), 10);
		ok(m && m->kind == cases[i].kind, "'%s' is of its kind", cases[i].path);
	}
	ok(mapping_at(&w, 5, 0x1000, 10)->offset == 0, "what is no file has no offset");
	must(map_at(&w, 10, 5, 0xffffffffff600000, 0xffffffffff601000, "[vsyscall]") == 0);
	ok(is_at(&w, 5, 0xffffffffff600000, 10, ""), "the upper half is not the process's");
	ok(map_at(&w, 10, 5, 0x2000, 0x2000, "/x") == -EINVAL, "an empty range is refused");
	ok(map_at(&w, 10, 0, 0x2000, 0x3000, "/x") == -EINVAL, "so is PID 0");
	ok(map_at(&w, 10, 1 << 22, 0x2000, 0x3000, "/x") == -EINVAL, "and one too high");
	ok(tracker_find(w.t, -5, 10) == NULL, "no PID finds nothing");
	world_done(&w);
}

/* The device on which the kernel keeps shared memory. */
static struct file_key shared_key(void)
{
	int fd = memfd_create("key", MFD_CLOEXEC);
	struct stat st;

	must(fd >= 0 && fstat(fd, &st) == 0);
	close(fd);
	return (struct file_key){ .major = major(st.st_dev),
				  .minor = minor(st.st_dev),
				  .inode = 12345,
				  .has_generation = true };
}

static enum mapping_kind kind_with_key(const char *path, struct file_key key)
{
	enum mapping_kind kind;
	struct world w;

	world_init(&w);
	must(map_key(&w, 0x10000, 0x20000, path, key) == 0);
	kind = mapping_at(&w, 5, 0x10000, 10)->kind;
	world_done(&w);
	return kind;
}

/* Anybody can give a file any of these names, in a root of his own. */
static void test_kinds_are_by_inode(void)
{
	static const char *const forged[] = { "/SYSV00000000 (deleted)",
					      "/dev/zero (deleted)",
					      "/anon_hugepage (deleted)",
					      "//anon",
					      "[heap]",
					      "[vdso]",
					      "" };
	struct file_key file = { .minor = 99, .inode = 5 }, no_inode = { .minor = 99 };
	struct file_key shared = shared_key(), zero = { 0 };
	struct stat st;

	for (size_t i = 0; i < sizeof(forged) / sizeof(forged[0]); i++)
		ok(kind_with_key(forged[i], file) == MAPPING_FILE &&
			   kind_with_key(forged[i], no_inode) == MAPPING_FILE,
		   "a file that is called '%s' is a file", forged[i]);
	ok(kind_with_key("/SYSV00000000 (deleted)", shared) == MAPPING_ANON &&
		   kind_with_key("/dev/zero (deleted)", shared) == MAPPING_ANON &&
		   kind_with_key("[anon_shmem:jit]", shared) == MAPPING_ANON,
	   "what is on the kernel's own file system is memory");
	ok(kind_with_key("/memfd:x (deleted)", shared) == MAPPING_FILE,
	   "a memfd is read as a file");
	must(stat("/dev/zero", &st) == 0);
	zero = (struct file_key){ .major = major(st.st_dev),
				  .minor = minor(st.st_dev),
				  .inode = st.st_ino };
	ok(kind_with_key("/dev/zero", zero) == MAPPING_ANON, "so is what is mapped of /dev/zero");
}

#define MAPS_A "1000-2000 r-xp 00000100 00:63 5 /a\n"
#define MAPS_B "3000-4000 r-xp 00000000 00:63 6 /b\n"
#define MAPS_C "3000-4000 r-xp 00000000 00:63 7 /c\n"
#define STAT(pid, ppid, start) pid " (x) S " ppid " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 " start " 0\n"

static void test_scan(void)
{
	struct world w;
	uint64_t id;

	world_init(&w);
	ok(tracker_scan(w.t, 10, 5) == -ESRCH && tracker_nr_processes(w.t) == 0,
	   "scan: a process that is gone is not added");
	fake_write(&w.fake, "5/stat", STAT("5", "4", "777"));
	fake_write(&w.fake, "5/maps",
		   MAPS_A "2000-3000 rw-p 00000000 00:63 5 /a\n" MAPS_B
			  "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n");
	must(tracker_scan(w.t, 10, 5) == 0);
	id = process_id(tracker_find(w.t, 5, 0));
	ok(is_at(&w, 5, 0x1000, 0, "/a"), "a process unknown before has been there since ever");
	ok(is_at(&w, 5, 0x2000, 10, ""), "only executable mappings count");
	ok(process_parent(tracker_find(w.t, 5, 10)) == 4, "the parent is known");
	fake_write(&w.fake, "5/maps", MAPS_A MAPS_C);
	must(tracker_scan(w.t, 20, 5) == 0);
	ok(mapping_at(&w, 5, 0x1000, 20)->since_ns == 0, "what is unchanged keeps its age");
	ok(is_at(&w, 5, 0x3000, 19, "/b") && is_at(&w, 5, 0x3000, 20, "/c"),
	   "what was replaced is another from now on");
	fake_write(&w.fake, "5/maps", MAPS_A);
	must(tracker_scan(w.t, 30, 5) == 0);
	ok(is_at(&w, 5, 0x3000, 29, "/c") && is_at(&w, 5, 0x3000, 30, ""),
	   "what vanished is gone from now on");
	fake_write(&w.fake, "5/maps", "");
	must(tracker_scan(w.t, 40, 5) == 0);
	ok(is_at(&w, 5, 0x1000, 40, "/a"), "an empty maps takes nothing away");
	fake_write(&w.fake, "5/maps", MAPS_B);
	must(tracker_exit(w.t, 45, 5) == 0 && tracker_scan(w.t, 50, 5) == 0);
	ok(process_id(tracker_find(w.t, 5, 50)) == id,
	   "a process that started when ours did is ours, whatever exited");
	fake_write(&w.fake, "5/stat", STAT("5", "4", "888"));
	must(tracker_scan(w.t, 60, 5) == 0);
	ok(process_id(tracker_find(w.t, 5, 60)) != id && process_id(tracker_find(w.t, 5, 59)) == id,
	   "one that started later is another");
	world_done(&w);
}

/* The first thread has exited: it has no memory, another one has. */
static void test_scan_by_thread(void)
{
	static const char line[] = "1000-2000 r-xp 00000000 00:63 7 /code\n";
	struct world w;

	world_init(&w);
	fake_write(&w.fake, "5/maps", "");
	fake_write(&w.fake, "5/task/5/comm", "x");
	fake_write(&w.fake, "5/task/8/comm", "x");
	fake_write(&w.fake, "5/task/9/comm", "x");
	fake_write(&w.fake, "8/maps", "");
	fake_write(&w.fake, "9/maps", line);
	must(tracker_scan(w.t, 10, 5) == 0);
	ok(is_at(&w, 5, 0x1000, 10, "/code"), "a live thread tells what the first one cannot");
	ok(tracker_nr_processes(w.t) == 1, "and is no process of its own");
	world_done(&w);
}

static void test_scan_after_exit(void)
{
	struct world w;
	uint64_t id;

	world_init(&w);
	must(map_at(&w, 10, 5, 0x1000, 0x2000, "/old") == 0);
	id = process_id(tracker_find(w.t, 5, 10));
	must(tracker_exit(w.t, 20, 5) == 0);
	fake_write(&w.fake, "5/maps", MAPS_A);
	must(tracker_scan(w.t, 30, 5) == 0);
	ok(process_id(tracker_find(w.t, 5, 30)) != id,
	   "after an exit, /proc shows another process");
	ok(is_at(&w, 5, 0x1000, 20, "/a") && is_at(&w, 5, 0x1000, 19, "/old"),
	   "which had the PID since then");
	world_done(&w);
}

static void test_hostile_maps(void)
{
	struct world w;

	world_init(&w);
	fake_write(&w.fake, "5/maps",
		   "1000-3000 r-xp 0 00:63 5 /a\n"
		   "2000-4000 r-xp 0 00:63 6 /b\n"
		   "nonsense\n"
		   "800-1800 r-xp 0 00:63 7 /c\n"
		   "5000-6000 r-xp 0 00:63 8 /d\n");
	ok(tracker_scan(w.t, 10, 5) == 0, "overlapping, unsorted and broken lines do no harm");
	ok(is_at(&w, 5, 0x2800, 10, "/a") && is_at(&w, 5, 0x3800, 10, "") &&
		   is_at(&w, 5, 0x900, 10, "") && is_at(&w, 5, 0x5000, 10, "/d"),
	   "the first to claim an address has it");
	world_done(&w);
}

static void test_events_of_unknown_processes(void)
{
	struct world w;

	world_init(&w);
	fake_write(&w.fake, "5/maps", MAPS_B);
	fake_write(&w.fake, "5/stat", STAT("5", "3", "1"));
	must(map_at(&w, 10, 5, 0x8000, 0x9000, "/event") == 0);
	ok(is_at(&w, 5, 0x3000, 5, "/b") && is_at(&w, 5, 0x8000, 10, "/event"),
	   "a mapping of an unknown process: the rest is read from /proc");
	must(map_at(&w, 10, 6, 0x8000, 0x9000, "/event") == 0);
	ok(is_at(&w, 6, 0x8000, 10, "/event") && tracker_find(w.t, 6, 0),
	   "if it is gone it has just that");
	fake_write(&w.fake, "7/maps", MAPS_A);
	must(tracker_fork(w.t, 20, 8, 7) == 0);
	ok(is_at(&w, 8, 0x1000, 20, "/a") && is_at(&w, 7, 0x1000, 20, "/a"),
	   "fork of an unknown parent: that is read first");
	fake_write(&w.fake, "9/maps", MAPS_C);
	must(tracker_fork(w.t, 30, 9, 77) == 0);
	ok(is_at(&w, 9, 0x3000, 30, "/c") && process_parent(tracker_find(w.t, 9, 30)) == 77,
	   "a parent that is gone: the child itself is read");
	ok(tracker_exit(w.t, 40, 1234) == 0 && tracker_nr_processes(w.t) == 5,
	   "the exit of an unknown process is nothing");
	world_done(&w);
}

static void test_exec_by_another_thread(void)
{
	struct world w;
	uint64_t id;

	world_init(&w);
	must(map_at(&w, 10, 5, 0x1000, 0x2000, "/old") == 0);
	id = process_id(tracker_find(w.t, 5, 10));
	must(tracker_exit(w.t, 20, 5) == 0 && tracker_exec(w.t, 20, 5) == 0);
	must(map_at(&w, 21, 5, 0x1000, 0x2000, "/new") == 0);
	ok(process_id(tracker_find(w.t, 5, 21)) == id && is_at(&w, 5, 0x1000, 21, "/new") &&
		   is_at(&w, 5, 0x1000, 19, "/old"),
	   "exec by a second thread ends the first one, not the process");
	world_done(&w);
}

static void test_build_id(void)
{
	static const struct build_id id = { .bytes = { 1, 2 }, .len = 2 };
	struct world w;
	const struct mapping *m;

	world_init(&w);
	must(map_at(&w, 10, 5, 0x1000, 0x2000, "/a") == 0);
	must(map_at(&w, 10, 5, 0x2000, 0x3000, "//anon") == 0);
	ok(tracker_build_id(w.t, 5, 0x1000, &id) == 0, "a build-id is told for what is mapped");
	m = mapping_at(&w, 5, 0x1000, 10);
	ok(build_id_eq(&filestore_get(w.files, m->file)->build_id, &id), "and reaches the file");
	ok(tracker_build_id(w.t, 5, 0x1800, &id) == -ENOENT, "the middle is not a start");
	ok(tracker_build_id(w.t, 5, 0x2000, &id) == -ENOENT, "what is no file has none");
	ok(tracker_build_id(w.t, 6, 0x1000, &id) == -ENOENT, "nor has an unknown process");
	world_done(&w);
}

static void test_forget(void)
{
	struct world w;

	world_init(&w);
	must(map_at(&w, 10, 5, 0x1000, 0x2000, "/a") == 0);
	must(map_at(&w, 20, 5, 0x1000, 0x2000, "/b") == 0);
	must(map_at(&w, 30, 5, 0x1000, 0x2000, "/c") == 0);
	must(tracker_fork(w.t, 40, 6, 5) == 0 && tracker_exit(w.t, 50, 6) == 0);
	tracker_forget(w.t, 25);
	ok(is_at(&w, 5, 0x1000, 25, "/b") && is_at(&w, 5, 0x1000, 30, "/c"),
	   "what is still asked for stays");
	ok(is_at(&w, 5, 0x1000, 15, ""), "what ended before is gone");
	tracker_forget(w.t, 50);
	ok(tracker_nr_processes(w.t) == 2, "a process that exits at that time stays");
	tracker_forget(w.t, 51);
	ok(tracker_nr_processes(w.t) == 1 && tracker_find(w.t, 6, 50) == NULL,
	   "one that exited before goes");
	ok(is_at(&w, 5, 0x1000, 60, "/c"), "the living are not touched");
	must(tracker_fork(w.t, 70, 6, 5) == 0 && tracker_fork(w.t, 80, 6, 5) == 0);
	must(tracker_fork(w.t, 90, 6, 5) == 0);
	tracker_forget(w.t, 85);
	ok(tracker_nr_processes(w.t) == 3 && tracker_find(w.t, 6, 85) && tracker_find(w.t, 6, 95),
	   "of three that had a PID, the first goes");
	world_done(&w);
}

/* Processes that fork, execute a file of their own, exit, under PIDs that come back: what is kept is what
 * is alive, and what ended a moment ago. */
static void test_churn_is_bounded(void)
{
	uint32_t most = 0, most_files = 0;
	struct world w;

	world_init(&w);
	must(map_at(&w, 1, 5, 0x1000, 0x2000, "/parent") == 0);
	for (uint64_t i = 1; i <= 5000; i++) {
		pid_t pid = (pid_t)(100 + i % 50);
		char path[32];

		snprintf(path, sizeof(path), "/new%llu", (unsigned long long)i);
		must(tracker_fork(w.t, i * 10, pid, 5) == 0);
		must(tracker_exec(w.t, i * 10 + 1, pid) == 0);
		must(map_at(&w, i * 10 + 2, pid, 0x1000, 0x2000, path) == 0);
		must(is_at(&w, pid, 0x1000, i * 10 + 3, path));
		must(tracker_exit(w.t, i * 10 + 4, pid) == 0);
		tracker_forget(w.t, i * 10 - 20);
		filestore_sweep(w.files, NULL, NULL);
		if (tracker_nr_processes(w.t) > most)
			most = tracker_nr_processes(w.t);
		if (filestore_nr_held(w.files) > most_files)
			most_files = filestore_nr_held(w.files);
	}
	ok(most <= 5, "of 5000 processes at most %u are kept at a time", most);
	ok(most_files <= 5, "of as many files at most %u", most_files);
	ok(is_at(&w, 5, 0x1000, 60000, "/parent"), "the parent's mapping holds its file");
	world_done(&w);
}

static void test_versions_are_bounded(void)
{
	struct world w;

	world_init(&w);
	for (uint64_t i = 0; i < TRACKER_MAX_VERSIONS + 10; i++)
		must(map_at(&w, 100 + i, 5, 0x1000, 0x2000, i % 2 ? "//anon" : "[vdso]") == 0);
	ok(tracker_nr_versions_dropped(w.t) == TRACKER_MAX_VERSIONS / 2,
	   "a process that remaps for ever loses its oldest past, and that is counted");
	ok(mapping_at(&w, 5, 0x1000, 100 + TRACKER_MAX_VERSIONS)->kind == MAPPING_VDSO &&
		   mapping_at(&w, 5, 0x1000, 101 + TRACKER_MAX_VERSIONS)->kind == MAPPING_ANON,
	   "the newest is right");
	world_done(&w);
}

static double seconds_since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - from->tv_sec) + (double)(now.tv_nsec - from->tv_nsec) / 1e9;
}

/* The numbers are printed for people; the checks are wide enough for valgrind. */
static void test_large(bool is_random)
{
	enum { NR_MAPPINGS = 20000, NR_CHILDREN = 500 };
	struct world w;
	struct timespec from;
	double insert_s, fork_s;
	size_t before, insert_bytes, fork_bytes;

	world_init(&w);
	before = mallinfo2().uordblks;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (uint64_t i = 0; i < NR_MAPPINGS; i++) {
		uint64_t at_page = is_random ? i * 7919 % NR_MAPPINGS : i;

		must(map_at(&w, 10 + i, 5, at_page << 13, (at_page << 13) + 0x1000, "//anon") == 0);
	}
	insert_s = seconds_since(&from);
	insert_bytes = mallinfo2().uordblks - before;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (pid_t pid = 1000; pid < 1000 + NR_CHILDREN; pid++) {
		must(tracker_fork(w.t, 100000, pid, 5) == 0);
		must(map_at(&w, 100001, pid, 0x2000, 0x3000, "[vdso]") == 0);
		must(tracker_exec(w.t, 100002, pid) == 0);
	}
	fork_s = seconds_since(&from);
	fork_bytes = mallinfo2().uordblks - before - insert_bytes;
	printf("# %d mappings in %s order: %.1f ms, %zu KiB; %d forks with a change and an exec: "
	       "%.1f ms, %zu KiB\n",
	       NR_MAPPINGS, is_random ? "mixed" : "ascending", insert_s * 1e3, insert_bytes >> 10,
	       NR_CHILDREN, fork_s * 1e3, fork_bytes >> 10);
	ok(insert_s < 5 && fork_s < 5, "many mappings and many children cost little time");
	ok(fork_bytes < insert_bytes * 2 + (4u << 20), "and little memory");
	world_done(&w);
}

/* A process in a root, by what its folder in /proc shows. */
static void put_in_root(struct world *w, int pid, const char *root, const char *stat)
{
	char name[64];

	snprintf(name, sizeof(name), "%d/stat", pid);
	fake_write(&w->fake, name, stat);
	snprintf(name, sizeof(name), "%d/root", pid);
	fake_link(&w->fake, name, root);
}

static const struct file *file_at(const struct world *w, pid_t pid, uint64_t time)
{
	const struct mapping *m = mapping_at(w, pid, 0x1000, time);

	must(m && m->kind == MAPPING_FILE);
	return filestore_get(w->files, m->file);
}

static void test_roots(void)
{
	char box[PATH_MAX];
	uint32_t boxed;
	struct world w;

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
	   "one path in two roots is two files");
	must(tracker_fork(w.t, 12, 52, 50) == 0);
	must(tracker_exec(w.t, 13, 52) == 0 && map_at(&w, 13, 52, 0x1000, 0x2000, "/bin/a") == 0);
	ok(file_at(&w, 52, 14) == file_at(&w, 50, 14),
	   "a child that is gone was where its parent is");
	put_in_root(&w, 52, "/", "52 (x) R 1 1 1");
	must(map_at(&w, 15, 52, 0x1000, 0x2000, "/bin/b") == 0);
	ok(file_at(&w, 52, 15)->root == boxed, "it is not asked again for every mapping,");
	must(tracker_exec(w.t, 16, 52) == 0 && map_at(&w, 16, 52, 0x1000, 0x2000, "/bin/a") == 0);
	ok(file_at(&w, 52, 17)->root == ROOT_OWN, "but after every exec");
	put_in_root(&w, 53, box, "53 (x) R 1 1 1 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 4000000000 0");
	must(map_at(&w, 18, 53, 0x1000, 0x2000, "/bin/a") == 0);
	ok(file_at(&w, 53, 19)->root == ROOT_UNKNOWN,
	   "the root of a process that began later is another's");
	must(map_at(&w, 20, 54, 0x1000, 0x2000, "/bin/a") == 0);
	ok(file_at(&w, 54, 21)->root == ROOT_UNKNOWN,
	   "of one that nobody has seen, it is not known, and not ours");
	world_done(&w);
}

/* /proc shows paths from our root, the side-band from the process's. */
static void test_chroot(void)
{
	char box[PATH_MAX], maps[2 * PATH_MAX];
	const struct mapping *first;
	uint64_t image;
	struct world w;

	world_init(&w);
	fake_write(&w.fake, "box/x", "x");
	put_in_root(&w, 60, fake_path(&w.fake, "box", box), "60 (x) R 1 1 1");
	snprintf(maps, sizeof(maps), "1000-2000 r-xp 00000100 00:63 1234 %s/bin/a\n", box);
	fake_write(&w.fake, "60/maps", maps);
	must(tracker_scan(w.t, 10, 60) == 0);
	ok(is_at(&w, 60, 0x1000, 11, "/bin/a"), "a path in a chroot is as the process sees it");
	first = mapping_at(&w, 60, 0x1000, 11);
	image = image_at(&w, 60, 11);
	must(tracker_scan(w.t, 12, 60) == 0);
	ok(mapping_at(&w, 60, 0x1000, 13)->file == first->file && image_at(&w, 60, 13) == image,
	   "looking again changes nothing");
	world_done(&w);
}

static void test_ourselves(void)
{
	struct procfs real;
	struct filestore *files;
	struct tracker *t;
	const struct process *p;
	const struct mapping *m;

	if (procfs_open("/proc", &real) < 0) {
		tap_skip("needs /proc");
		return;
	}
	must(filestore_new(&real, 100, &files) == 0 && tracker_new(&real, files, &t) == 0);
	ok(tracker_scan(t, 10, getpid()) == 0, "our own process is scanned");
	p = tracker_find(t, getpid(), 10);
	m = process_mapping(p, (uint64_t)(uintptr_t)&test_ourselves, 10);
	ok(m && m->kind == MAPPING_FILE &&
		   strstr(filestore_get(files, m->file)->path, "test_proc_tracker"),
	   "the address of a function is in our executable");
	ok(process_parent(p) == getppid(), "our parent is known");
	tracker_free(t);
	filestore_free(files);
	procfs_close(&real);
}

int main(void)
{
	test_code_of_an_image();
	test_dlopen_and_reuse_of_the_range();
	test_exec();
	test_fork();
	test_origin();
	test_jitdumps();
	test_pid_reuse();
	test_late_events();
	test_kinds();
	test_kinds_are_by_inode();
	test_scan();
	test_scan_by_thread();
	test_scan_after_exit();
	test_hostile_maps();
	test_events_of_unknown_processes();
	test_exec_by_another_thread();
	test_build_id();
	test_forget();
	test_churn_is_bounded();
	test_versions_are_bounded();
	test_roots();
	test_chroot();
	test_large(false);
	test_large(true);
	test_ourselves();
	return tap_done();
}
