/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>

#include "tracker_world.h"

static int map_key(struct test_world *w, uint64_t start, uint64_t end, const char *path,
		   struct file_key key)
{
	struct mmap_event e = { .time_ns = 10, .pid = 5, .start = start, .end = end };

	e.path = path;
	e.offset = 0x100;
	e.key = key;
	return tracker_mmap(w->t, &e);
}

static void test_dlopen_and_reuse_of_the_range(void)
{
	struct test_world w;
	const struct mapping *m;

	world_init(&w);
	must(map_at(&w, 10, 5, 0x1000, 0x2000, "/exe") == 0);
	must(map_at(&w, 20, 5, 0x8000, 0xc000, "/liba") == 0);
	ok(is_at(&w, 5, 0x9000, 20, "/liba"), "dlopen: the library is mapped from its time on");
	ok(is_at(&w, 5, 0x9000, 19, ""), "dlopen: the library is not mapped before");
	ok(is_at(&w, 5, 0xc000, 20, ""), "dlopen: the end address is not part of it");
	ok(image_at(&w, 5, 20) == image_at(&w, 5, 10),
	   "an added mapping does not change the image");
	must(map_at(&w, 30, 5, 0x9000, 0xa000, "/libb") == 0);
	ok(image_at(&w, 5, 30) != image_at(&w, 5, 29), "a replaced mapping changes the image");
	must(map_at(&w, 31, 5, 0x20000, 0x24000, "//anon") == 0);
	must(map_at(&w, 32, 5, 0x21000, 0x22000, "//anon") == 0);
	ok(image_at(&w, 5, 32) == image_at(&w, 5, 30),
	   "JIT code that replaces JIT code does not change the image");
	must(map_at(&w, 33, 5, 0x22000, 0x23000, "/libb") == 0);
	ok(image_at(&w, 5, 33) != image_at(&w, 5, 32), "a file's does");
	ok(is_at(&w, 5, 0x9fff, 30, "/libb"), "dlclose and reuse: the new library has the range");
	ok(is_at(&w, 5, 0x9fff, 29, "/liba"),
	   "dlclose and reuse: a sample from before is in the old library");
	ok(is_at(&w, 5, 0x8fff, 30, "/liba") && is_at(&w, 5, 0xa000, 30, "/liba"),
	   "dlclose and reuse: the rest of the old mapping stays on both sides");
	m = mapping_at(&w, 5, 0xa000, 30);
	ok(m && m->offset == 0x100 + 0x2000 && m->since_ns == 20,
	   "dlclose and reuse: the rest keeps its offset and age");
	ok(is_at(&w, 5, 0x1000, 15, "/exe") && is_at(&w, 5, 0x1000, 35, "/exe"),
	   "dlclose and reuse: other mappings are unchanged");
	must(map_at(&w, 40, 5, 0x0, 0x10000, "/big") == 0);
	ok(is_at(&w, 5, 0x9fff, 40, "/big") && is_at(&w, 5, 0x9fff, 39, "/libb") &&
		   is_at(&w, 5, 0x9fff, 29, "/liba") && is_at(&w, 5, 0x9fff, 19, ""),
	   "each time has its own answer");
	must(map_at(&w, 50, 5, 0x0, 0x10000, "/big") == 0);
	ok(mapping_at(&w, 5, 0, 50)->since_ns == 40, "a repeated mapping changes nothing");
	world_done(&w);
}

/* A walk that knew an older image holds as far as its own code was not replaced. */
static void test_code_of_an_image(void)
{
	struct test_world w;
	const struct process *p;
	uint64_t image;

	world_init(&w);
	map_at(&w, 10, 5, 0x1000, 0x2000, "/main");
	map_at(&w, 11, 5, 0x3000, 0x4000, "/one");
	image = image_at(&w, 5, 11);
	map_at(&w, 20, 5, 0x3800, 0x4800, "/two");
	p = tracker_find(w.t, 5, 20);
	must(p && image_at(&w, 5, 20) != image);
	ok(process_has_code_of(p, 0x1800, 20, image), "image: unchanged code belongs to it");
	ok(process_has_code_of(p, 0x3400, 20, image), "image: the rest of a mapping belongs to it");
	ok(!process_has_code_of(p, 0x3c00, 20, image),
	   "image: code that replaced other code does not");
	ok(!process_has_code_of(p, 0x4400, 20, image), "image: code where there was none does not");
	ok(process_has_code_of(p, 0x3c00, 19, image), "image: replaced code belonged to it before");
	ok(!process_has_code_of(p, 0x2800, 20, image), "image: an unmapped address does not");
	ok(!process_has_code_of(p, 0x1800, 20, image + 1000),
	   "image: nothing belongs to an unknown image");
	world_done(&w);
}

static void test_exec(void)
{
	struct test_world w;
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
	   "exec: the image changes at that time");
	ok(is_at(&w, 5, 0x1000, 19, "/old"), "exec: before it the old image's code is mapped");
	ok(is_at(&w, 5, 0x1000, 20, ""), "exec: right after it nothing is mapped");
	ok(is_at(&w, 5, 0x1000, 21, "/new"), "exec: then the new image's code is mapped");
	ok(tracker_exec(w.t, 30, 6) == 0 && tracker_find(w.t, 6, 30) &&
		   process_image(tracker_find(w.t, 6, 30), 30) !=
			   process_image(tracker_find(w.t, 6, 29), 29),
	   "exec: of an unknown process makes it known");
	world_done(&w);
}

static void test_fork(void)
{
	struct test_world w;

	world_init(&w);
	must(map_at(&w, 10, 5, 0x1000, 0x2000, "/exe") == 0);
	must(tracker_fork(w.t, 20, 6, 5) == 0);
	ok(is_at(&w, 6, 0x1000, 20, "/exe"), "fork: a child has its parent's mappings");
	ok(mapping_at(&w, 6, 0x1000, 20) == mapping_at(&w, 5, 0x1000, 20),
	   "fork: the mappings are shared");
	ok(tracker_nr_mappings(w.t) == 1, "fork: a mapping that is shared counts once");
	ok(tracker_find(w.t, 6, 19) == NULL, "fork: the child did not exist before");
	ok(process_parent(tracker_find(w.t, 6, 20)) == 5, "fork: the child's parent is known");
	ok(process_id(tracker_find(w.t, 6, 20)) != process_id(tracker_find(w.t, 5, 20)),
	   "fork: the child is another process");
	ok(process_image(tracker_find(w.t, 6, 20), 20) ==
		   process_image(tracker_find(w.t, 5, 20), 20),
	   "fork: the child runs the same image");
	must(map_at(&w, 30, 6, 0x3000, 0x4000, "/of_child") == 0);
	ok(is_at(&w, 6, 0x3000, 30, "/of_child") && is_at(&w, 5, 0x3000, 30, ""),
	   "fork: a mapping of the child is not the parent's");
	must(map_at(&w, 40, 5, 0x1000, 0x2000, "/of_parent") == 0);
	ok(is_at(&w, 5, 0x1000, 40, "/of_parent") && is_at(&w, 6, 0x1000, 40, "/exe"),
	   "fork: a later mapping of the parent is not the child's");
	must(tracker_exec(w.t, 50, 6) == 0);
	must(map_at(&w, 51, 6, 0x1000, 0x2000, "/execd") == 0);
	ok(is_at(&w, 6, 0x1000, 49, "/exe") && is_at(&w, 6, 0x1000, 51, "/execd") &&
		   is_at(&w, 5, 0x1000, 51, "/of_parent"),
	   "fork, then exec in the child: each has its own mappings, at each time");
	ok(process_image(tracker_find(w.t, 6, 51), 51) !=
		   process_image(tracker_find(w.t, 5, 51), 51),
	   "fork, then exec in the child: each has its own image");
	ok(tracker_fork(w.t, 60, 7, 7) == -EINVAL, "a process is never its own parent");
	world_done(&w);
}

static void test_origin(void)
{
	struct process_origin o;
	struct test_world w;

	world_init(&w);
	must(map_at(&w, 10, 5, 0x1000, 0x2000, "/exe") == 0);
	must(tracker_exec(w.t, 15, 5) == 0);
	ok(!process_origin(tracker_find(w.t, 5, 20), 20, &o),
	   "origin: unknown for a process found running");
	must(tracker_fork(w.t, 20, 6, 5) == 0 && tracker_exec(w.t, 30, 5) == 0);
	ok(process_origin(tracker_find(w.t, 6, 40), 40, &o) && o.pid == 5 && o.fork_ns == 20 &&
		   o.program == process_program(tracker_find(w.t, 5, 20), 20) &&
		   o.program != process_program(tracker_find(w.t, 5, 40), 40),
	   "origin: the program that its parent ran at the fork");
	must(tracker_exec(w.t, 50, 6) == 0);
	ok(process_origin(tracker_find(w.t, 6, 40), 40, &o) &&
		   !process_origin(tracker_find(w.t, 6, 60), 60, &o),
	   "origin: none after an exec");
	world_done(&w);
}

static void test_jitdumps(void)
{
	struct test_world w;

	world_init(&w);
	must(map_at(&w, 10, 5, 0x1000, 0x2000, "/tmp/jit-5.dump") == 0);
	must(map_at(&w, 10, 5, 0x3000, 0x4000, "/tmp/jit-x.dump") == 0);
	must(map_at(&w, 10, 5, 0x5000, 0x6000, "/jit-5.dump/jit-.dump") == 0);
	ok(process_nr_jitdumps(tracker_find(w.t, 5, 20), 20) == 1,
	   "jitdumps are recognized by their name");
	must(tracker_fork(w.t, 30, 6, 5) == 0);
	ok(process_nr_jitdumps(tracker_find(w.t, 6, 30), 30) == 0 &&
		   mapping_at(&w, 6, 0x1000, 30)->is_jitdump,
	   "an inherited jitdump is not the child's own");
	must(map_at(&w, 40, 6, 0x7000, 0x8000, "/tmp/jit-6.dump") == 0);
	ok(process_nr_jitdumps(tracker_find(w.t, 6, 40), 40) == 1 &&
		   process_nr_jitdumps(tracker_find(w.t, 5, 40), 40) == 1,
	   "a jitdump that the child maps is its own");
	must(tracker_exec(w.t, 50, 6) == 0);
	ok(process_nr_jitdumps(tracker_find(w.t, 6, 60), 60) == 0,
	   "after an exec there is no jitdump");
	world_done(&w);
}

static void test_pid_reuse(void)
{
	struct test_world w;
	uint64_t first;

	world_init(&w);
	must(map_at(&w, 10, 5, 0x1000, 0x2000, "/parent") == 0);
	must(map_at(&w, 10, 6, 0x1000, 0x2000, "/first") == 0);
	first = process_id(tracker_find(w.t, 6, 10));
	must(tracker_exit(w.t, 20, 6) == 0);
	ok(is_at(&w, 6, 0x1000, 15, "/first"), "exit: an exited process is still known");
	ok(is_at(&w, 6, 0x1000, 25, "/first"), "exit: also for threads that outlive the first one");
	must(tracker_fork(w.t, 30, 6, 5) == 0);
	ok(process_id(tracker_find(w.t, 6, 30)) != first, "exit: a reused PID is another process");
	ok(is_at(&w, 6, 0x1000, 30, "/parent") && is_at(&w, 6, 0x1000, 29, "/first"),
	   "exit: each time has its own process");
	must(tracker_fork(w.t, 40, 6, 5) == 0);
	ok(tracker_nr_processes(w.t) == 4, "a fork ends a process whose exit was lost");
	must(map_at(&w, 41, 6, 0x1000, 0x2000, "/third") == 0);
	ok(is_at(&w, 6, 0x1000, 35, "/parent") && is_at(&w, 6, 0x1000, 41, "/third"),
	   "three processes of one PID are kept apart");
	world_done(&w);
}

static void test_late_events(void)
{
	struct test_world w;

	world_init(&w);
	must(map_at(&w, 100, 5, 0x1000, 0x2000, "/a") == 0);
	must(map_at(&w, 90, 5, 0x1000, 0x2000, "/b") == 0);
	ok(is_at(&w, 5, 0x1000, 100, "/b") && is_at(&w, 5, 0x1000, 99, ""),
	   "a late event takes effect at the newest time");
	must(map_at(&w, 50, 6, 0x1000, 0x2000, "/c") == 0);
	ok(is_at(&w, 6, 0x1000, 50, "/c"), "the newest time is per process");
	must(tracker_exit(w.t, 110, 5) == 0);
	must(map_at(&w, 105, 5, 0x5000, 0x6000, "/late") == 0);
	ok(tracker_nr_processes(w.t) == 2 && is_at(&w, 5, 0x5000, 110, "/late"),
	   "a mapping from before the exit that arrives later belongs to the process");
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
	struct test_world w;

	world_init(&w);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct mapping *m;

		must(map_at(&w, 10, 5, 0x1000 * (i + 1), 0x1000 * (i + 2), cases[i].path) == 0);
		m = mapping_at(&w, 5, 0x1000 * (i + 1), 10);
		ok(m && m->kind == cases[i].kind, "'%s' has its kind", cases[i].path);
	}
	ok(mapping_at(&w, 5, 0x1000, 10)->offset == 0, "a mapping without a file has no offset");
	must(map_at(&w, 10, 5, 0xffffffffff600000, 0xffffffffff601000, "[vsyscall]") == 0);
	ok(is_at(&w, 5, 0xffffffffff600000, 10, ""), "addresses in the upper half are ignored");
	ok(map_at(&w, 10, 5, 0x2000, 0x2000, "/x") == -EINVAL, "an empty range is refused");
	ok(map_at(&w, 10, 0, 0x2000, 0x3000, "/x") == -EINVAL, "PID 0 is refused");
	ok(map_at(&w, 10, 1 << 22, 0x2000, 0x3000, "/x") == -EINVAL,
	   "a PID above the limit is refused");
	ok(tracker_find(w.t, -5, 10) == NULL, "an invalid PID finds nothing");
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
	struct test_world w;

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
	   "memory on the kernel's own file system is anonymous");
	ok(kind_with_key("/memfd:x (deleted)", shared) == MAPPING_FILE,
	   "a memfd is treated as a file");
	must(stat("/dev/zero", &st) == 0);
	zero = (struct file_key){ .major = major(st.st_dev),
				  .minor = minor(st.st_dev),
				  .inode = st.st_ino };
	ok(kind_with_key("/dev/zero", zero) == MAPPING_ANON, "a mapping of /dev/zero is anonymous");
}

#define MAPS_A "1000-2000 r-xp 00000100 00:63 5 /a\n"
#define MAPS_B "3000-4000 r-xp 00000000 00:63 6 /b\n"
#define MAPS_C "3000-4000 r-xp 00000000 00:63 7 /c\n"
#define STAT(pid, ppid, start) pid " (x) S " ppid " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 " start " 0\n"

static void test_scan(void)
{
	struct test_world w;
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
	ok(is_at(&w, 5, 0x1000, 0, "/a"),
	   "scan: an unknown process counts from the beginning of time");
	ok(is_at(&w, 5, 0x2000, 10, ""), "scan: only executable mappings count");
	ok(process_parent(tracker_find(w.t, 5, 10)) == 4, "scan: the parent is known");
	fake_write(&w.fake, "5/maps", MAPS_A MAPS_C);
	must(tracker_scan(w.t, 20, 5) == 0);
	ok(mapping_at(&w, 5, 0x1000, 20)->since_ns == 0,
	   "scan: an unchanged mapping keeps its age");
	ok(is_at(&w, 5, 0x3000, 19, "/b") && is_at(&w, 5, 0x3000, 20, "/c"),
	   "scan: a replaced mapping is another one from now on");
	fake_write(&w.fake, "5/maps", MAPS_A);
	must(tracker_scan(w.t, 30, 5) == 0);
	ok(is_at(&w, 5, 0x3000, 29, "/c") && is_at(&w, 5, 0x3000, 30, ""),
	   "scan: a missing mapping is gone from now on");
	fake_write(&w.fake, "5/maps", "");
	must(tracker_scan(w.t, 40, 5) == 0);
	ok(is_at(&w, 5, 0x1000, 40, "/a"), "scan: an empty maps file removes nothing");
	fake_write(&w.fake, "5/maps", MAPS_B);
	must(tracker_exit(w.t, 45, 5) == 0 && tracker_scan(w.t, 50, 5) == 0);
	ok(process_id(tracker_find(w.t, 5, 50)) == id,
	   "scan: the same start time is the same process, whatever exited");
	fake_write(&w.fake, "5/stat", STAT("5", "4", "888"));
	must(tracker_scan(w.t, 60, 5) == 0);
	ok(process_id(tracker_find(w.t, 5, 60)) != id && process_id(tracker_find(w.t, 5, 59)) == id,
	   "scan: a later start time is another process");
	world_done(&w);
}

/* The first thread has exited: it has no memory, another one has. */
static void test_scan_by_thread(void)
{
	static const char line[] = "1000-2000 r-xp 00000000 00:63 7 /code\n";
	struct test_world w;

	world_init(&w);
	fake_write(&w.fake, "5/maps", "");
	fake_write(&w.fake, "5/task/5/comm", "x");
	fake_write(&w.fake, "5/task/8/comm", "x");
	fake_write(&w.fake, "5/task/9/comm", "x");
	fake_write(&w.fake, "8/maps", "");
	fake_write(&w.fake, "9/maps", line);
	must(tracker_scan(w.t, 10, 5) == 0);
	ok(is_at(&w, 5, 0x1000, 10, "/code"),
	   "scan: a live thread shows what the exited first one cannot");
	ok(tracker_nr_processes(w.t) == 1, "scan: a live thread is not a process of its own");
	world_done(&w);
}

static void test_scan_after_exit(void)
{
	struct test_world w;
	uint64_t id;

	world_init(&w);
	must(map_at(&w, 10, 5, 0x1000, 0x2000, "/old") == 0);
	id = process_id(tracker_find(w.t, 5, 10));
	must(tracker_exit(w.t, 20, 5) == 0);
	fake_write(&w.fake, "5/maps", MAPS_A);
	must(tracker_scan(w.t, 30, 5) == 0);
	ok(process_id(tracker_find(w.t, 5, 30)) != id,
	   "scan: after an exit, /proc shows another process");
	ok(is_at(&w, 5, 0x1000, 20, "/a") && is_at(&w, 5, 0x1000, 19, "/old"),
	   "scan: the other process has the PID since then");
	world_done(&w);
}

static void test_hostile_maps(void)
{
	struct test_world w;

	world_init(&w);
	fake_write(&w.fake, "5/maps",
		   "1000-3000 r-xp 0 00:63 5 /a\n"
		   "2000-4000 r-xp 0 00:63 6 /b\n"
		   "nonsense\n"
		   "800-1800 r-xp 0 00:63 7 /c\n"
		   "5000-6000 r-xp 0 00:63 8 /d\n");
	ok(tracker_scan(w.t, 10, 5) == 0,
	   "scan: overlapping, unsorted and invalid lines do no harm");
	ok(is_at(&w, 5, 0x2800, 10, "/a") && is_at(&w, 5, 0x3800, 10, "") &&
		   is_at(&w, 5, 0x900, 10, "") && is_at(&w, 5, 0x5000, 10, "/d"),
	   "scan: the first mapping of an address wins");
	world_done(&w);
}

static void test_events_of_unknown_processes(void)
{
	struct test_world w;

	world_init(&w);
	fake_write(&w.fake, "5/maps", MAPS_B);
	fake_write(&w.fake, "5/stat", STAT("5", "3", "1"));
	must(map_at(&w, 10, 5, 0x8000, 0x9000, "/event") == 0);
	ok(is_at(&w, 5, 0x3000, 5, "/b") && is_at(&w, 5, 0x8000, 10, "/event"),
	   "a mapping of an unknown process: the rest is read from /proc");
	must(map_at(&w, 10, 6, 0x8000, 0x9000, "/event") == 0);
	ok(is_at(&w, 6, 0x8000, 10, "/event") && tracker_find(w.t, 6, 0),
	   "a mapping of an unknown process that is gone: it has only that");
	fake_write(&w.fake, "7/maps", MAPS_A);
	must(tracker_fork(w.t, 20, 8, 7) == 0);
	ok(is_at(&w, 8, 0x1000, 20, "/a") && is_at(&w, 7, 0x1000, 20, "/a"),
	   "a fork of an unknown parent: the parent is read first");
	fake_write(&w.fake, "9/maps", MAPS_C);
	must(tracker_fork(w.t, 30, 9, 77) == 0);
	ok(is_at(&w, 9, 0x3000, 30, "/c") && process_parent(tracker_find(w.t, 9, 30)) == 77,
	   "a fork of a parent that is gone: the child itself is read");
	ok(tracker_exit(w.t, 40, 1234) == 0 && tracker_nr_processes(w.t) == 5,
	   "the exit of an unknown process is ignored");
	world_done(&w);
}

static void test_exec_by_another_thread(void)
{
	struct test_world w;
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
	struct test_world w;
	const struct mapping *m;

	world_init(&w);
	must(map_at(&w, 10, 5, 0x1000, 0x2000, "/a") == 0);
	must(map_at(&w, 10, 5, 0x2000, 0x3000, "//anon") == 0);
	ok(tracker_build_id(w.t, 5, 0x1000, &id) == 0, "build-id: accepted for what is mapped");
	m = mapping_at(&w, 5, 0x1000, 10);
	ok(build_id_eq(&filestore_get(w.files, m->file)->build_id, &id),
	   "build-id: reaches the file");
	ok(tracker_build_id(w.t, 5, 0x1800, &id) == -ENOENT,
	   "build-id: the middle of a mapping is refused");
	ok(tracker_build_id(w.t, 5, 0x2000, &id) == -ENOENT,
	   "build-id: a mapping without a file is refused");
	ok(tracker_build_id(w.t, 6, 0x1000, &id) == -ENOENT,
	   "build-id: an unknown process is refused");
	world_done(&w);
}

static void test_forget(void)
{
	struct test_world w;

	world_init(&w);
	must(map_at(&w, 10, 5, 0x1000, 0x2000, "/a") == 0);
	must(map_at(&w, 20, 5, 0x1000, 0x2000, "/b") == 0);
	must(map_at(&w, 30, 5, 0x1000, 0x2000, "/c") == 0);
	must(tracker_fork(w.t, 40, 6, 5) == 0 && tracker_exit(w.t, 50, 6) == 0);
	tracker_forget(w.t, 25);
	ok(is_at(&w, 5, 0x1000, 25, "/b") && is_at(&w, 5, 0x1000, 30, "/c"),
	   "forget: what is still needed stays");
	ok(is_at(&w, 5, 0x1000, 15, ""), "forget: what ended before is gone");
	tracker_forget(w.t, 50);
	ok(tracker_nr_processes(w.t) == 2, "forget: a process that exits at that time stays");
	tracker_forget(w.t, 51);
	ok(tracker_nr_processes(w.t) == 1 && tracker_find(w.t, 6, 50) == NULL,
	   "forget: a process that exited before is gone");
	ok(is_at(&w, 5, 0x1000, 60, "/c"), "forget: live processes are unaffected");
	must(tracker_fork(w.t, 70, 6, 5) == 0 && tracker_fork(w.t, 80, 6, 5) == 0);
	must(tracker_fork(w.t, 90, 6, 5) == 0);
	tracker_forget(w.t, 85);
	ok(tracker_nr_processes(w.t) == 3 && tracker_find(w.t, 6, 85) && tracker_find(w.t, 6, 95),
	   "forget: of three processes with a PID, the first is gone");
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
	test_ourselves();
	return tap_done();
}
