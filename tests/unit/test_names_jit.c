/* SPDX-License-Identifier: Apache-2.0 */
/* Which perf map is believed, for which process, and what is kept of it. */
#include <sys/time.h>

#include "jit_world.h"

static void remove_process(struct test_world *w)
{
	static const char *const files[] = { "4242/maps", "4242/stat", "4242/comm", "4242/status" };
	char from[PATH_MAX], to[PATH_MAX];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		fake_unlink(&w->f, files[i]);
	must(rename(fake_path(&w->f, "4242", from), fake_path(&w->f, "gone", to)) == 0);
}

static void test_own(void)
{
	struct jit_sources src;
	struct test_world w;

	world_init(&w, 4);
	fake_write(&w.f, "4242/root/tmp/perf-4242.map", "O");
	map(&w, "A");
	note(&w, 30);
	note(&w, 40);
	ok(get(&w, &src) == JIT_MAP_OPEN && first_byte_of(src.symbol_files[0].map_fd) == 'A' &&
		   src.symbol_files[0].dump_fd == -1,
	   "map: looked for in the process's root, under the PID that it has there");
	ok(jit_files_counts(w.jit).nr[JIT_MAP_OPEN] == 1, "map: an opened map is counted");
	world_done(&w);
}

static void test_kept(void)
{
	struct jit_sources src;
	struct test_world w;

	world_init(&w, 4);
	map(&w, "A");
	note(&w, 30);
	remove_process(&w);
	ok(get(&w, &src) == JIT_MAP_OPEN && first_byte_of(src.symbol_files[0].map_fd) == 'A',
	   "map: kept after the process has ended");
	world_done(&w);
	world_init(&w, 4);
	map(&w, "A");
	note(&w, 30);
	fake_unlink(&w.f, "4242/root/tmp/perf-7.map");
	ok(get(&w, &src) == JIT_MAP_OPEN && first_byte_of(src.symbol_files[0].map_fd) == 'A',
	   "map: kept after it was deleted");
	map(&w, "B");
	ok(get(&w, &src) == JIT_MAP_OPEN && first_byte_of(src.symbol_files[0].map_fd) == 'B',
	   "map: a rewritten map replaces the old one");
	world_done(&w);
}

static void started_at(struct test_world *w, unsigned int ticks)
{
	char text[128];

	snprintf(text, sizeof(text),
		 "4242 (node) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 %u 0", ticks);
	fake_write(&w->f, "4242/stat", text);
}

/* The PID goes to another process, which writes a map of its own under the same name. */
static void test_reused_pid(void)
{
	struct jit_sources src;
	struct test_world w;

	world_init(&w, 4);
	started_at(&w, 100);
	map(&w, "A");
	note(&w, 30);
	fake_unlink(&w.f, "4242/root/tmp/perf-7.map");
	map(&w, "B");
	started_at(&w, 200);
	ok(get(&w, &src) == JIT_MAP_OPEN && first_byte_of(src.symbol_files[0].map_fd) == 'A',
	   "map: the map of a later process with the same PID does not replace it");
	world_done(&w);
	world_init(&w, 4);
	started_at(&w, 100);
	note(&w, 30);
	map(&w, "B");
	started_at(&w, 200);
	ok(get(&w, &src) != JIT_MAP_OPEN && src.symbol_files[0].map_fd < 0,
	   "map: the map of a later process is not used where there was none");
	world_done(&w);
}

/* Once names are made of it a map is not held any longer: the next one has its place. */
static void test_dropped(void)
{
	struct jit_sources src;
	unsigned int nr_files;
	struct test_world w;

	world_init(&w, 1);
	map(&w, "A");
	nr_files = nr_open_files();
	note(&w, 30);
	must(get(&w, &src) == JIT_MAP_OPEN && nr_open_files() > nr_files);
	jit_files_drop(w.jit, process_program(process(&w), 20));
	ok(first_byte_of(src.symbol_files[0].map_fd) == 'A',
	   "map: stays open until the process is symbolized");
	jit_sources_done(&src);
	ok(nr_open_files() == nr_files, "map: closed after it was read");
	jit_files_drop(w.jit, process_program(process(&w), 20));
	jit_files_drop(w.jit, 12345678);
	ok(get(&w, &src) == JIT_MAP_OPEN && first_byte_of(src.symbol_files[0].map_fd) == 'A',
	   "map: can be opened again");
	world_done(&w);
}

static void test_late(void)
{
	struct jit_sources src;
	struct test_world w;

	world_init(&w, 4);
	note(&w, 30);
	map(&w, "A");
	note(&w, 40);
	note(&w, 30 + NS_PER_S);
	remove_process(&w);
	ok(get(&w, &src) == JIT_MAP_OPEN, "map: a map that appears later is found");
	world_done(&w);
	world_init(&w, 4);
	note(&w, 30);
	map(&w, "A");
	ok(get(&w, &src) == JIT_MAP_OPEN, "map: a map that appears at the very end is found");
	world_done(&w);
}

static enum jit_map outcome(struct test_world *w)
{
	struct jit_sources src;
	enum jit_map m;

	note(w, 30);
	m = get(w, &src);
	must((src.symbol_files[0].map_fd >= 0) == (m == JIT_MAP_OPEN));
	must(jit_files_counts(w->jit).nr[m] == 1);
	world_done(w);
	return m;
}

static void test_refused(void)
{
	struct timeval old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
	char path[PATH_MAX], second[PATH_MAX];
	struct test_world w;

	world_init(&w, 4);
	ok(outcome(&w) == JIT_MAP_NONE, "map: a process without a map has none");
	world_init(&w, 4);
	map(&w, "A");
	write_status(&w, geteuid() + 1, "4242\t7");
	ok(outcome(&w) == JIT_MAP_FOREIGN, "map: another user's map is ignored");
	world_init(&w, 4);
	fake_link(&w.f, "4242/root/tmp/perf-7.map", "other");
	ok(outcome(&w) == JIT_MAP_LINK, "map: a link is refused, even to a file of that user");
	world_init(&w, 4);
	map(&w, "A");
	must(link(fake_path(&w.f, "4242/root/tmp/perf-7.map", path),
		  fake_path(&w.f, "4242/root/tmp/perf-8.map", second)) == 0);
	ok(outcome(&w) == JIT_MAP_LINK, "map: a hard link to another process's map is refused");
	world_init(&w, 4);
	must(mkdir(fake_path(&w.f, "4242/root/tmp/perf-7.map", path), 0700) == 0);
	ok(outcome(&w) == JIT_MAP_LINK, "map: anything but a regular file is refused");
	world_init(&w, 4);
	map(&w, "A");
	started_at(&w, 1);
	must(utimes(fake_path(&w.f, "4242/root/tmp/perf-7.map", path), old) == 0);
	ok(outcome(&w) == JIT_MAP_STALE, "map: a map of an earlier process is stale");
	world_init(&w, 4);
	map(&w, "A");
	started_at(&w, 1);
	must(utimes(fake_path(&w.f, "4242/root/tmp/perf-7.map", path), old) == 0);
	note(&w, 20);
	fake_unlink(&w.f, "4242/root/tmp/perf-7.map");
	ok(outcome(&w) == JIT_MAP_STALE, "map: a stale map stays stale when it is gone");
	world_init(&w, 4);
	map(&w, "A");
	started_at(&w, 1);
	ok(outcome(&w) == JIT_MAP_OPEN, "map: a map written since the start is not stale");
	world_init(&w, 0);
	map(&w, "A");
	ok(outcome(&w) == JIT_MAP_OPEN, "map: over the limit a map is opened at the end");
	world_init(&w, 0);
	map(&w, "A");
	note(&w, 20);
	remove_process(&w);
	ok(outcome(&w) == JIT_MAP_TOO_MANY,
	   "map: over the limit the reason is reported if it is gone at the end");
	world_init(&w, 4);
	remove_process(&w);
	ok(outcome(&w) == JIT_MAP_GONE, "map: a process that is gone, like its parent, has no map");
}

/* The map's last change, so many seconds ago. */
static void age_map(struct test_world *w, time_t age_s)
{
	struct timeval then[2] = { { time(NULL) - age_s, 0 }, { time(NULL) - age_s, 0 } };
	char path[PATH_MAX];

	must(utimes(fake_path(&w->f, "4242/root/tmp/perf-7.map", path), then) == 0);
}

/* A process that runs one program, then another; each may have a map. */
static void test_exec(void)
{
	uint64_t exec_ns = clock_mono_ns() - NS_PER_S, now_ns = exec_ns + NS_PER_S / 2, first,
		 second;
	struct jit_sources src;
	struct test_world w;

	world_init(&w, 4);
	map(&w, "A");
	age_map(&w, 60);
	note(&w, 30);
	must(tracker_exec(w.tracker, exec_ns, PID) == 0);
	first = process_program(process(&w), 20);
	second = process_program(process(&w), now_ns);
	jit_files_look(w.jit, process(&w), PID, now_ns);
	ok(first != second && ask(&w, first, &src) == JIT_MAP_OPEN,
	   "exec: ends the validity of a map");
	ok(ask(&w, second, &src) == JIT_MAP_STALE && src.symbol_files[0].map_fd < 0,
	   "exec: a map older than the exec belongs to the earlier program");
	map(&w, "B");
	ok(ask(&w, second, &src) == JIT_MAP_OPEN &&
		   first_byte_of(src.symbol_files[0].map_fd) == 'B',
	   "exec: a map newer than the exec belongs to the later program");
	ok(ask(&w, first, &src) == JIT_MAP_STALE && src.symbol_files[0].map_fd < 0,
	   "exec: an overwritten map is no longer the earlier program's");
	world_done(&w);
}

/* A process that ended before it was looked at. */
static void test_by_parent(const char *parent_pids, enum jit_map expected, const char *text)
{
	struct jit_sources src;
	struct test_world w;
	char status[128];

	world_init(&w, 4);
	remove_process(&w);
	snprintf(status, sizeof(status), "Uid:\t0\t%u\t0\t0\nNSpid:\t%s\n", geteuid(), parent_pids);
	fake_write(&w.f, "77/status", status);
	fake_write(&w.f, "77/root/tmp/perf-4243.map", "P");
	must(tracker_fork(w.tracker, 15, 4243, 77) == 0);
	jit_files_look(w.jit, tracker_find(w.tracker, 4243, 20), 4243, 30);
	ok(ask(&w, process_program(tracker_find(w.tracker, 4243, 20), 20), &src) == expected, "%s",
	   text);
	world_done(&w);
}

/* A process that has ended, and whose parent has not waited for it yet: no more than its status. */
static void make_zombie(struct test_world *w)
{
	char from[PATH_MAX], to[PATH_MAX];

	fake_unlink(&w->f, "4242/maps");
	must(rename(fake_path(&w->f, "4242/root", from), fake_path(&w->f, "root", to)) == 0);
}

static void test_zombie(void)
{
	struct jit_sources src;
	char status[128];
	struct test_world w;

	world_init(&w, 4);
	map(&w, "A");
	make_zombie(&w);
	note(&w, 30);
	ok(get(&w, &src) == JIT_MAP_GONE && jit_files_counts(w.jit).nr[JIT_MAP_GONE] == 1,
	   "gone: whether an unseen zombie had a map is unknown");
	world_done(&w);
	world_init(&w, 4);
	note(&w, 30);
	make_zombie(&w);
	note(&w, 30 + NS_PER_S);
	ok(get(&w, &src) == JIT_MAP_NONE, "gone: a process without a map while it lived had none");
	world_done(&w);
	world_init(&w, 4);
	map(&w, "A");
	make_zombie(&w);
	write_status(&w, geteuid(), "4242");
	snprintf(status, sizeof(status), "Uid:\t0\t%u\t0\t0\nNSpid:\t77\n", geteuid());
	fake_write(&w.f, "77/status", status);
	fake_write(&w.f, "77/root/tmp/perf-4242.map", "P");
	must(tracker_fork(w.tracker, 15, PID, 77) == 0);
	note(&w, 30);
	ok(get(&w, &src) == JIT_MAP_OPEN && first_byte_of(src.symbol_files[0].map_fd) == 'P',
	   "gone: the map is looked for in the parent's root");
	world_done(&w);
}

/* The first thread has ended, another one goes on. */
static void test_first_thread_ended(void)
{
	struct jit_sources src;
	struct test_world w;

	world_init(&w, 4);
	make_zombie(&w);
	fake_write(&w.f, "4242/task/4250/comm", "");
	fake_write(&w.f, "4250/maps", "7f0000001000-7f0000003000 r-xp 00000000 00:00 0 \n");
	fake_write(&w.f, "4250/root/tmp/perf-7.map", "T");
	note(&w, 30);
	ok(get(&w, &src) == JIT_MAP_OPEN && first_byte_of(src.symbol_files[0].map_fd) == 'T',
	   "first thread gone: the root is found by another thread");
	world_done(&w);
}

/* What an earlier process with this PID has left in the parent's root. */
static void test_stale_by_parent(void)
{
	struct timeval old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
	struct jit_sources src;
	char path[PATH_MAX], status[128];
	struct test_world w;

	world_init(&w, 4);
	started_at(&w, 100);
	must(tracker_fork(w.tracker, 15, PID, 77) == 0);
	jit_files_look(w.jit, tracker_find(w.tracker, PID, 20), PID, 30);
	remove_process(&w);
	snprintf(status, sizeof(status), "Uid:\t0\t%u\t0\t0\nNSpid:\t77\n", geteuid());
	fake_write(&w.f, "77/status", status);
	fake_write(&w.f, "77/root/tmp/perf-4242.map", "P");
	must(utimes(fake_path(&w.f, "77/root/tmp/perf-4242.map", path), old) == 0);
	ok(get(&w, &src) == JIT_MAP_STALE && src.symbol_files[0].map_fd < 0,
	   "first thread gone: a map older than the process is stale");
	world_done(&w);
}

/* A stretch of a file that the process has mapped at 0x5000; its number. */
static uint32_t map_code_file(struct test_world *w)
{
	struct mmap_event e = {
		.time_ns = 15, .pid = PID, .start = 0x5000, .end = 0x7000, .offset = 0x1000
	};
	char path[PATH_MAX];
	const struct mapping *m;

	fake_write(&w->f, "libcode.so", "C");
	e.path = fake_path(&w->f, "libcode.so", path);
	e.key = fake_key(&w->f, "libcode.so");
	fake_link(&w->f, "4242/map_files/5000-7000", path);
	must(tracker_mmap(w->tracker, &e) == 0);
	m = process_mapping(process(w), 0x5000, 20);
	must(m && m->kind == MAPPING_FILE);
	return m->file;
}

/* The first that tells about a stretch of a file. */
static bool find_place(const struct test_world *w, uint32_t file, uint64_t offset, uint64_t bytes,
		       struct jit_place *ret_place)
{
	uint32_t at = 0;

	while (jit_files_list_places(w->jit, &at) > 0)
		continue;
	jit_files_sort_places(w->jit);
	at = 0;
	return jit_files_next_place(w->jit, &at, file, offset, bytes, ret_place);
}

/* Opening takes a while, in which the session may find the same map. */
static void test_opened_meanwhile(void)
{
	unsigned int before;
	struct jit_looks looks;
	struct jit_sources src;
	struct test_world w;
	uint64_t program;

	world_init(&w, 4);
	note(&w, 30);
	before = nr_open_files();
	program = process_program(process(&w), 20);
	jit_files_list_looks(w.jit, program, true, &looks);
	map(&w, "A");
	note(&w, 30 + NS_PER_S);
	jit_looks_open(&looks, &w.f.procfs);
	ok(looks.nr == 1 &&
		   jit_files_get(w.jit, program, &looks, src.symbol_files, &src.nr_symbol_files) ==
			   JIT_MAP_OPEN &&
		   first_byte_of(src.symbol_files[0].map_fd) == 'A',
	   "a map that was opened twice is there once");
	jit_sources_done(&src);
	jit_files_drop(w.jit, program);
	ok(nr_open_files() == before, "a map that was opened twice is closed twice");
	world_done(&w);
}

static void test_place(void)
{
	struct jit_place place = { 0 };
	struct jit_sources src;
	struct jit_symbol_files files;
	struct test_world w;
	uint32_t file;

	world_init(&w, 4);
	file = map_code_file(&w);
	note(&w, 30);
	ok(!find_place(&w, file, 0x1000, 0x2000, &place),
	   "builtins: a process without a map resolves no file's code");
	map(&w, "A");
	note(&w, 30 + NS_PER_S);
	ok(find_place(&w, file, 0x1000, 0x2000, &place) && place.start == 0x5000 &&
		   place.user == geteuid(),
	   "builtins: a process with a map resolves code of its files, for its user");
	files = jit_files_of_process(w.jit, place.process);
	(void)get(&w, &src);
	jit_files_drop(w.jit, process_program(process(&w), 20));
	ok(first_byte_of(files.map_fd) == 'A', "builtins: also after its own code is done");
	closep(&files.map_fd);
	ok(!find_place(&w, file, 0, 0x2000, &place) &&
		   !find_place(&w, file, 0x1000, 0x1000, &place),
	   "builtins: another range of the file is not resolved");
	world_done(&w);
}

/* The same file, as a process of another root sees it. */
static uint32_t other_view(struct test_world *w, uint32_t file)
{
	struct file_hint hint = { .pid = PID, .start = 0x5000, .end = 0x7000, .root = 77 };
	struct file_key key = fake_key(&w->f, "libcode.so");
	uint32_t id;

	must(filestore_add(w->files, &key, filestore_get(w->files, file)->path, NULL, &hint, &id) ==
	     0);
	must(id != file);
	return id;
}

static void test_whose_place(void)
{
	struct jit_place place = { 0 };
	struct test_world w;
	uint32_t file;

	world_init(&w, 4);
	file = map_code_file(&w);
	map(&w, "A");
	note(&w, 30);
	ok(find_place(&w, file, 0x1000, 0x2000, &place),
	   "builtins: a process with a map resolves code of its files");
	ok(!find_place(&w, other_view(&w, file), 0x1000, 0x2000, &place),
	   "builtins: no process in another root uses it");
	fake_write(&w.f, "4242/status", "Uid:\t1\t2\t1\t1\nNSpid:\t4242\t7\n");
	note(&w, 30 + NS_PER_S);
	ok(!find_place(&w, file, 0x1000, 0x2000, &place),
	   "builtins: a process that becomes another user does not use it");
	write_status(&w, geteuid(), "4242\t7");
	note(&w, 30 + 10 * NS_PER_S);
	ok(!find_place(&w, file, 0x1000, 0x2000, &place),
	   "builtins: a process that was another user does not use it");
	world_done(&w);
}

static void test_dump(void)
{
	struct jit_sources src;
	struct test_world w;
	struct mmap_event e = { .time_ns = 15, .pid = PID, .start = 0x5000, .end = 0x6000 };
	char path[PATH_MAX], link[64];

	world_init(&w, 4);
	fake_write(&w.f, "jit-7.dump", "D");
	e.path = fake_path(&w.f, "jit-7.dump", path);
	e.key = fake_key(&w.f, "jit-7.dump");
	snprintf(link, sizeof(link), "4242/map_files/5000-6000");
	fake_link(&w.f, link, path);
	must(tracker_mmap(w.tracker, &e) == 0);
	note(&w, 30);
	ok(get(&w, &src) == JIT_MAP_NONE && src.symbol_files[0].dump_fd >= 0 &&
		   first_byte_of(src.symbol_files[0].dump_fd) == 'D',
	   "jitdump: found among the process's mappings");
	world_done(&w);
	world_init(&w, 4);
	fake_write(&w.f, "jit-x.dump", "D");
	e.path = fake_path(&w.f, "jit-x.dump", path);
	e.key = fake_key(&w.f, "jit-x.dump");
	fake_link(&w.f, link, path);
	must(tracker_mmap(w.tracker, &e) == 0);
	note(&w, 30);
	ok(get(&w, &src) == JIT_MAP_NONE && src.symbol_files[0].dump_fd == -1,
	   "jitdump: recognized by its name");
	world_done(&w);
}

int main(void)
{
	if (!can_open_in_root()) {
		tap_skip("needs openat2()");
		return tap_done();
	}
	test_own();
	test_kept();
	test_reused_pid();
	test_dropped();
	test_late();
	test_refused();
	test_exec();
	test_by_parent("77", JIT_MAP_OPEN, "gone: the map is found in the parent's root");
	test_by_parent("77\t3", JIT_MAP_GONE,
		       "gone: in a PID namespace of its own the PID is unknown");
	test_zombie();
	test_first_thread_ended();
	test_stale_by_parent();
	test_opened_meanwhile();
	test_place();
	test_whose_place();
	test_dump();
	return tap_done();
}
