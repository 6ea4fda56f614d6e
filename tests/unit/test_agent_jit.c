/* SPDX-License-Identifier: Apache-2.0 */
/* Which perf map is believed, for which process, and what is kept of it. */
#include <sys/time.h>

#include "jit_world.h"

static void remove_process(struct world *w)
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
	struct world w;

	world_init(&w, 4);
	fake_write(&w.f, "4242/root/tmp/perf-4242.map", "O");
	map(&w, "A");
	note(&w, CODE + 5, 30);
	note(&w, CODE, 40);
	ok(get(&w, &src) == JIT_MAP_OPEN && first_byte_of(src.told[0].map_fd) == 'A' &&
		   src.told[0].dump_fd == -1,
	   "the map is in the process's root, under the PID that it has there");
	ok(src.nr_addresses == 2 && src.addresses[0].addr == CODE + 5 &&
		   src.addresses[0].time_ns == 30 && src.addresses[1].addr == CODE,
	   "with the addresses that were sampled, and when");
	ok(jit_files_counts(w.jit)[JIT_MAP_OPEN] == 1, "it is counted");
	world_done(&w);
}

static void test_kept(void)
{
	struct jit_sources src;
	struct world w;

	world_init(&w, 4);
	map(&w, "A");
	note(&w, CODE, 30);
	remove_process(&w);
	ok(get(&w, &src) == JIT_MAP_OPEN && first_byte_of(src.told[0].map_fd) == 'A',
	   "it is kept after the process has ended");
	world_done(&w);
	world_init(&w, 4);
	map(&w, "A");
	note(&w, CODE, 30);
	fake_unlink(&w.f, "4242/root/tmp/perf-7.map");
	ok(get(&w, &src) == JIT_MAP_OPEN && first_byte_of(src.told[0].map_fd) == 'A',
	   "and after its own end");
	map(&w, "B");
	ok(get(&w, &src) == JIT_MAP_OPEN && first_byte_of(src.told[0].map_fd) == 'B',
	   "one that was written anew is taken instead");
	world_done(&w);
}

static void started_at(struct world *w, unsigned int ticks)
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
	struct world w;

	world_init(&w, 4);
	started_at(&w, 100);
	map(&w, "A");
	note(&w, CODE, 30);
	fake_unlink(&w.f, "4242/root/tmp/perf-7.map");
	map(&w, "B");
	started_at(&w, 200);
	ok(get(&w, &src) == JIT_MAP_OPEN && first_byte_of(src.told[0].map_fd) == 'A',
	   "the map of a later process with the same PID does not take its place");
	world_done(&w);
	world_init(&w, 4);
	started_at(&w, 100);
	note(&w, CODE, 30);
	map(&w, "B");
	started_at(&w, 200);
	ok(get(&w, &src) != JIT_MAP_OPEN && src.told[0].map_fd < 0,
	   "nor is it taken where there was none");
	world_done(&w);
}

/* Once names are made of it a map is not held any longer: the next one has its place. */
static void test_dropped(void)
{
	struct jit_sources src;
	unsigned int nr_files;
	struct world w;

	world_init(&w, 1);
	map(&w, "A");
	nr_files = nr_open_files();
	note(&w, CODE, 30);
	must(get(&w, &src) == JIT_MAP_OPEN && nr_open_files() > nr_files);
	jit_files_drop(w.jit, process_program(process(&w), 20));
	ok(first_byte_of(src.told[0].map_fd) == 'A', "what was asked for stays until it is done");
	jit_sources_done(&src);
	ok(nr_open_files() == nr_files, "a map that was read is closed");
	jit_files_drop(w.jit, process_program(process(&w), 20));
	jit_files_drop(w.jit, 12345678);
	ok(get(&w, &src) == JIT_MAP_OPEN && first_byte_of(src.told[0].map_fd) == 'A',
	   "and can be opened again");
	world_done(&w);
}

static void test_late(void)
{
	struct jit_sources src;
	struct world w;

	world_init(&w, 4);
	note(&w, CODE, 30);
	map(&w, "A");
	note(&w, CODE + 1, 40);
	note(&w, CODE + 2, 30 + NS_PER_S);
	remove_process(&w);
	ok(get(&w, &src) == JIT_MAP_OPEN, "a map that appears later is found by asking again");
	world_done(&w);
	world_init(&w, 4);
	note(&w, CODE, 30);
	map(&w, "A");
	ok(get(&w, &src) == JIT_MAP_OPEN, "also at the very end");
	world_done(&w);
}

static enum jit_map outcome(struct world *w)
{
	struct jit_sources src;
	enum jit_map m;

	note(w, CODE, 30);
	m = get(w, &src);
	must((src.told[0].map_fd >= 0) == (m == JIT_MAP_OPEN));
	must(jit_files_counts(w->jit)[m] == 1);
	world_done(w);
	return m;
}

static void test_refused(void)
{
	struct timeval old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
	char path[PATH_MAX], second[PATH_MAX];
	struct world w;

	world_init(&w, 4);
	ok(outcome(&w) == JIT_MAP_NONE, "no map is no map");
	world_init(&w, 4);
	map(&w, "A");
	write_status(&w, geteuid() + 1, "4242\t7");
	ok(outcome(&w) == JIT_MAP_FOREIGN, "another user's map is ignored");
	world_init(&w, 4);
	fake_link(&w.f, "4242/root/tmp/perf-7.map", "other");
	ok(outcome(&w) == JIT_MAP_LINK, "a link is refused, even to a file of that user");
	world_init(&w, 4);
	map(&w, "A");
	must(link(fake_path(&w.f, "4242/root/tmp/perf-7.map", path),
		  fake_path(&w.f, "4242/root/tmp/perf-8.map", second)) == 0);
	ok(outcome(&w) == JIT_MAP_LINK, "so is a file of several names, one of another process's");
	world_init(&w, 4);
	must(mkdir(fake_path(&w.f, "4242/root/tmp/perf-7.map", path), 0700) == 0);
	ok(outcome(&w) == JIT_MAP_LINK, "so is what is no regular file");
	world_init(&w, 4);
	map(&w, "A");
	started_at(&w, 1);
	must(utimes(fake_path(&w.f, "4242/root/tmp/perf-7.map", path), old) == 0);
	ok(outcome(&w) == JIT_MAP_STALE, "a map of an earlier process is stale");
	world_init(&w, 4);
	map(&w, "A");
	started_at(&w, 1);
	must(utimes(fake_path(&w.f, "4242/root/tmp/perf-7.map", path), old) == 0);
	note(&w, CODE + 1, 20);
	fake_unlink(&w.f, "4242/root/tmp/perf-7.map");
	ok(outcome(&w) == JIT_MAP_STALE, "it was, also when it cannot be found any more");
	world_init(&w, 4);
	map(&w, "A");
	started_at(&w, 1);
	ok(outcome(&w) == JIT_MAP_OPEN, "one that was written since is not");
	world_init(&w, 0);
	map(&w, "A");
	ok(outcome(&w) == JIT_MAP_OPEN,
	   "over the limit a map is opened at the end, if it still can be");
	world_init(&w, 0);
	map(&w, "A");
	note(&w, CODE + 1, 20);
	remove_process(&w);
	ok(outcome(&w) == JIT_MAP_TOO_MANY, "else that is the reason");
	world_init(&w, 4);
	remove_process(&w);
	ok(outcome(&w) == JIT_MAP_GONE, "a process that is gone, and whose parent is, has none");
}

/* The map's last change, so many seconds ago. */
static void age_map(struct world *w, time_t age_s)
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
	struct world w;

	world_init(&w, 4);
	map(&w, "A");
	age_map(&w, 60);
	note(&w, CODE, 30);
	must(tracker_exec(w.tracker, exec_ns, PID) == 0);
	first = process_program(process(&w), 20);
	second = process_program(process(&w), now_ns);
	jit_files_note(w.jit, process(&w), PID, CODE + 1, now_ns);
	ok(first != second && jit_files_get(w.jit, first, &src) == JIT_MAP_OPEN &&
		   src.nr_addresses == 1 && src.addresses[0].addr == CODE,
	   "an exec ends what a map tells about");
	ok(jit_files_get(w.jit, second, &src) == JIT_MAP_STALE && src.told[0].map_fd < 0 &&
		   src.nr_addresses == 1 && src.addresses[0].addr == CODE + 1,
	   "a map that is older than the exec is the earlier program's");
	map(&w, "B");
	ok(jit_files_get(w.jit, second, &src) == JIT_MAP_OPEN &&
		   first_byte_of(src.told[0].map_fd) == 'B',
	   "one that is newer is the later program's");
	ok(jit_files_get(w.jit, first, &src) == JIT_MAP_STALE && src.told[0].map_fd < 0,
	   "and what it was written over is no more the earlier one's");
	world_done(&w);
}

/* A process that ended before it was looked at. */
static void test_by_parent(const char *parent_pids, enum jit_map expected, const char *text)
{
	struct jit_sources src;
	struct world w;
	char status[128];

	world_init(&w, 4);
	remove_process(&w);
	snprintf(status, sizeof(status), "Uid:\t0\t%u\t0\t0\nNSpid:\t%s\n", geteuid(), parent_pids);
	fake_write(&w.f, "77/status", status);
	fake_write(&w.f, "77/root/tmp/perf-4243.map", "P");
	must(tracker_fork(w.tracker, 15, 4243, 77) == 0);
	jit_files_note(w.jit, tracker_find(w.tracker, 4243, 20), 4243, CODE, 30);
	ok(jit_files_get(w.jit, process_program(tracker_find(w.tracker, 4243, 20), 20), &src) ==
		   expected,
	   "%s", text);
	world_done(&w);
}

/* A process that has ended, and whose parent has not waited for it yet: no more than its status. */
static void make_zombie(struct world *w)
{
	char from[PATH_MAX], to[PATH_MAX];

	fake_unlink(&w->f, "4242/maps");
	must(rename(fake_path(&w->f, "4242/root", from), fake_path(&w->f, "root", to)) == 0);
}

static void test_zombie(void)
{
	struct jit_sources src;
	char status[128];
	struct world w;

	world_init(&w, 4);
	map(&w, "A");
	make_zombie(&w);
	note(&w, CODE, 30);
	ok(get(&w, &src) == JIT_MAP_GONE && jit_files_counts(w.jit)[JIT_MAP_GONE] == 1,
	   "of a zombie that was never looked at nobody knows whether it had a map");
	world_done(&w);
	world_init(&w, 4);
	note(&w, CODE, 30);
	make_zombie(&w);
	note(&w, CODE + 1, 30 + NS_PER_S);
	ok(get(&w, &src) == JIT_MAP_NONE, "one that had none when it lived had none");
	world_done(&w);
	world_init(&w, 4);
	map(&w, "A");
	make_zombie(&w);
	write_status(&w, geteuid(), "4242");
	snprintf(status, sizeof(status), "Uid:\t0\t%u\t0\t0\nNSpid:\t77\n", geteuid());
	fake_write(&w.f, "77/status", status);
	fake_write(&w.f, "77/root/tmp/perf-4242.map", "P");
	must(tracker_fork(w.tracker, 15, PID, 77) == 0);
	note(&w, CODE, 30);
	ok(get(&w, &src) == JIT_MAP_OPEN && first_byte_of(src.told[0].map_fd) == 'P',
	   "its map is looked for in its parent's root, as that of any process that is gone");
	world_done(&w);
}

/* The first thread has ended, another one goes on. */
static void test_first_thread_ended(void)
{
	struct jit_sources src;
	struct world w;

	world_init(&w, 4);
	make_zombie(&w);
	fake_write(&w.f, "4242/task/4250/comm", "");
	fake_write(&w.f, "4250/maps", "7f0000001000-7f0000003000 r-xp 00000000 00:00 0 \n");
	fake_write(&w.f, "4250/root/tmp/perf-7.map", "T");
	note(&w, CODE, 30);
	ok(get(&w, &src) == JIT_MAP_OPEN && first_byte_of(src.told[0].map_fd) == 'T',
	   "a process whose first thread has ended has a root by another one");
	world_done(&w);
}

/* What an earlier process with this PID has left in the parent's root. */
static void test_stale_by_parent(void)
{
	struct timeval old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
	struct jit_sources src;
	char path[PATH_MAX], status[128];
	struct world w;

	world_init(&w, 4);
	started_at(&w, 100);
	must(tracker_fork(w.tracker, 15, PID, 77) == 0);
	jit_files_note(w.jit, tracker_find(w.tracker, PID, 20), PID, CODE, 30);
	remove_process(&w);
	snprintf(status, sizeof(status), "Uid:\t0\t%u\t0\t0\nNSpid:\t77\n", geteuid());
	fake_write(&w.f, "77/status", status);
	fake_write(&w.f, "77/root/tmp/perf-4242.map", "P");
	must(utimes(fake_path(&w.f, "77/root/tmp/perf-4242.map", path), old) == 0);
	ok(get(&w, &src) == JIT_MAP_STALE && src.told[0].map_fd < 0,
	   "a map there that is older than the process is stale");
	world_done(&w);
}

/* A stretch of a file that the process has mapped at 0x5000; its number. */
static uint32_t map_code_file(struct world *w)
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
static bool find_place(const struct world *w, uint32_t file, uint64_t offset, uint64_t bytes,
		       struct jit_place *ret_place)
{
	uint32_t at = 0;

	must(jit_files_index_places(w->jit, NULL) == 0);
	return jit_files_next_place(w->jit, &at, file, offset, bytes, ret_place);
}

static void test_place(void)
{
	struct jit_place place = { 0 };
	struct jit_sources src;
	struct jit_told told;
	struct world w;
	uint32_t file;

	world_init(&w, 4);
	file = map_code_file(&w);
	note(&w, CODE, 30);
	ok(!find_place(&w, file, 0x1000, 0x2000, &place),
	   "a process without a map tells nothing about files");
	map(&w, "A");
	note(&w, CODE + 1, 30 + NS_PER_S);
	ok(find_place(&w, file, 0x1000, 0x2000, &place) && place.start == 0x5000 &&
		   place.user == geteuid(),
	   "one with a map may, where it has mapped them, for its user");
	told = jit_files_told_by(w.jit, place.process);
	(void)get(&w, &src);
	jit_files_drop(w.jit, process_program(process(&w), 20));
	ok(first_byte_of(told.map_fd) == 'A', "also when its own code is done with");
	closep(&told.map_fd);
	ok(!find_place(&w, file, 0, 0x2000, &place) &&
		   !find_place(&w, file, 0x1000, 0x1000, &place),
	   "another stretch is not meant");
	world_done(&w);
}

/* The same file, as a process of another root sees it. */
static uint32_t other_view(struct world *w, uint32_t file)
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
	struct world w;
	uint32_t file;

	world_init(&w, 4);
	file = map_code_file(&w);
	map(&w, "A");
	note(&w, CODE, 30);
	ok(find_place(&w, file, 0x1000, 0x2000, &place), "who has a map tells about its files");
	ok(!find_place(&w, other_view(&w, file), 0x1000, 0x2000, &place),
	   "but nobody in another root");
	fake_write(&w.f, "4242/status", "Uid:\t1\t2\t1\t1\nNSpid:\t4242\t7\n");
	note(&w, CODE + 1, 30 + NS_PER_S);
	ok(!find_place(&w, file, 0x1000, 0x2000, &place), "and not who becomes another user");
	write_status(&w, geteuid(), "4242\t7");
	note(&w, CODE + 2, 30 + 10 * NS_PER_S);
	ok(!find_place(&w, file, 0x1000, 0x2000, &place), "nor one who was");
	world_done(&w);
}

static void test_dump(void)
{
	struct jit_sources src;
	struct world w;
	struct mmap_event e = { .time_ns = 15, .pid = PID, .start = 0x5000, .end = 0x6000 };
	char path[PATH_MAX], link[64];

	world_init(&w, 4);
	fake_write(&w.f, "jit-7.dump", "D");
	e.path = fake_path(&w.f, "jit-7.dump", path);
	e.key = fake_key(&w.f, "jit-7.dump");
	snprintf(link, sizeof(link), "4242/map_files/5000-6000");
	fake_link(&w.f, link, path);
	must(tracker_mmap(w.tracker, &e) == 0);
	note(&w, CODE, 30);
	ok(get(&w, &src) == JIT_MAP_NONE && src.told[0].dump_fd >= 0 &&
		   first_byte_of(src.told[0].dump_fd) == 'D',
	   "a jitdump is found among the process's mappings");
	world_done(&w);
	world_init(&w, 4);
	fake_write(&w.f, "jit-x.dump", "D");
	e.path = fake_path(&w.f, "jit-x.dump", path);
	e.key = fake_key(&w.f, "jit-x.dump");
	fake_link(&w.f, link, path);
	must(tracker_mmap(w.tracker, &e) == 0);
	note(&w, CODE, 30);
	ok(get(&w, &src) == JIT_MAP_NONE && src.told[0].dump_fd == -1, "by its name");
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
	test_by_parent("77", JIT_MAP_OPEN,
		       "a process that is gone has its map in its parent's root");
	test_by_parent("77\t3", JIT_MAP_GONE, "but in a namespace of its own its PID is not known");
	test_zombie();
	test_first_thread_ended();
	test_stale_by_parent();
	test_place();
	test_whose_place();
	test_dump();
	return tap_done();
}
