/* SPDX-License-Identifier: Apache-2.0 */
/* What a child goes on with after a fork, and samples that are kept for their time. */
#include <errno.h>

#include "jit_world.h"
#include "names/jit_samples.h"

#define CHILD 5000

static enum jit_map get_of(struct test_world *w, pid_t pid, uint64_t time_ns,
			   struct jit_sources *src)
{
	const struct process *p = tracker_find(w->tracker, pid, time_ns);

	must(p);
	jit_files_look(w->jit, p, pid, time_ns);
	return ask(w, process_program(p, time_ns), src);
}

static void write_process(struct test_world *w, pid_t pid, pid_t ppid)
{
	char name[64], text[256];

	snprintf(name, sizeof(name), "%d/status", pid);
	snprintf(text, sizeof(text), "Uid:\t0\t%u\t0\t0\nNSpid:\t%d\n", geteuid(), pid);
	fake_write(&w->f, name, text);
	snprintf(name, sizeof(name), "%d/stat", pid);
	snprintf(text, sizeof(text), "%d (node) R %d 1 1", pid, ppid);
	fake_write(&w->f, name, text);
	snprintf(name, sizeof(name), "%d/maps", pid);
	fake_write(&w->f, name, "7f0000001000-7f0000003000 r-xp 00000000 00:00 0 \n");
	snprintf(name, sizeof(name), "%d/root/tmp/other", pid);
	fake_write(&w->f, name, "");
}

static void test_forked(void)
{
	struct jit_sources src;
	struct test_world w;

	world_init(&w, 4);
	map(&w, "A");
	write_process(&w, CHILD, PID);
	must(tracker_fork(w.tracker, 25, CHILD, PID) == 0);
	ok(get_of(&w, CHILD, 30, &src) == JIT_MAP_NONE && src.nr_symbol_files == 2 &&
		   src.symbol_files[0].map_fd < 0 &&
		   first_byte_of(src.symbol_files[1].map_fd) == 'A' &&
		   src.symbol_files[0].until_ns == UINT64_MAX && src.symbol_files[1].until_ns == 25,
	   "a child without a map uses its parent's, as of the fork");
	jit_sources_done(&src);
	fake_write(&w.f, "5000/root/tmp/perf-5000.map", "C");
	ok(get_of(&w, CHILD, 31, &src) == JIT_MAP_OPEN && src.nr_symbol_files == 2 &&
		   first_byte_of(src.symbol_files[0].map_fd) == 'C' &&
		   first_byte_of(src.symbol_files[1].map_fd) == 'A',
	   "the child's own map comes first");
	jit_sources_done(&src);
	must(tracker_fork(w.tracker, 40, CHILD + 1, CHILD) == 0);
	ok(get_of(&w, CHILD + 1, 50, &src) != JIT_MAP_OPEN && src.nr_symbol_files == 3 &&
		   first_byte_of(src.symbol_files[1].map_fd) == 'C' &&
		   src.symbol_files[1].until_ns == 40 &&
		   first_byte_of(src.symbol_files[2].map_fd) == 'A' &&
		   src.symbol_files[2].until_ns == 25,
	   "a grandchild uses both, each as of its fork");
	jit_sources_done(&src);
	must(tracker_exec(w.tracker, 60, CHILD) == 0);
	(void)get_of(&w, CHILD, 70, &src);
	ok(src.nr_symbol_files == 1, "after an exec nothing is inherited");
	jit_sources_done(&src);
	world_done(&w);
}

/* A parent is named before its children, and its map is gone by then. */
static void test_forked_dropped(void)
{
	const struct process *parent, *child;
	struct jit_sources src;
	unsigned int nr_files;
	struct test_world w;

	world_init(&w, 4);
	nr_files = nr_open_files();
	map(&w, "A");
	write_process(&w, CHILD, PID);
	must(tracker_fork(w.tracker, 25, CHILD, PID) == 0);
	note(&w, 30);
	parent = process(&w);
	child = tracker_find(w.tracker, CHILD, 30);
	jit_files_look(w.jit, child, CHILD, 30);
	jit_files_expect(w.jit, process_program(parent, 20));
	jit_files_expect(w.jit, process_program(child, 30));
	must(get(&w, &src) == JIT_MAP_OPEN);
	jit_sources_done(&src);
	jit_files_drop(w.jit, process_program(parent, 20));
	fake_unlink(&w.f, "4242/root/tmp/perf-7.map");
	(void)get_of(&w, CHILD, 30, &src);
	ok(src.nr_symbol_files == 2 && first_byte_of(src.symbol_files[1].map_fd) == 'A',
	   "a parent's map stays open while a child needs it");
	jit_sources_done(&src);
	jit_files_drop(w.jit, process_program(child, 30));
	ok(nr_open_files() == nr_files, "a parent's map is closed when no child needs it");
	world_done(&w);
}

static void test_forked_refused(void)
{
	struct jit_sources src;
	struct test_world w;

	world_init(&w, 4);
	map(&w, "A");
	write_status(&w, geteuid() + 1, "4242\t7");
	write_process(&w, CHILD, PID);
	must(tracker_fork(w.tracker, 25, CHILD, PID) == 0);
	(void)get_of(&w, CHILD, 30, &src);
	ok(src.nr_symbol_files == 2 && src.symbol_files[1].map_fd < 0,
	   "a parent's map must belong to the same user");
	jit_sources_done(&src);
	world_done(&w);
	world_init(&w, 4);
	map(&w, "A");
	write_process(&w, CHILD, PID);
	must(tracker_fork(w.tracker, 25, CHILD, PID) == 0 && tracker_exec(w.tracker, 27, PID) == 0);
	(void)get_of(&w, CHILD, 30, &src);
	ok(src.nr_symbol_files == 2 && src.symbol_files[1].map_fd < 0,
	   "the map of a parent that runs another program now is not used");
	jit_sources_done(&src);
	world_done(&w);
	world_init(&w, 4);
	map(&w, "A");
	write_process(&w, CHILD, PID);
	must(tracker_fork(w.tracker, 25, CHILD, PID) == 0 &&
	     tracker_fork(w.tracker, 27, PID, 1) == 0);
	(void)get_of(&w, CHILD, 30, &src);
	ok(src.nr_symbol_files == 2 && src.symbol_files[1].map_fd < 0,
	   "the map of another process with the parent's PID is not used");
	jit_sources_done(&src);
	world_done(&w);
}

/* The kernel chose an address at random for AT_RANDOM. */
static void write_auxv(struct test_world *w, pid_t pid, char random)
{
	const uint64_t auxv[] = { 6, 4096, 25, 0x1000u * (unsigned char)random, 0, 0 };
	char name[64];

	snprintf(name, sizeof(name), "%d/auxv", pid);
	fake_write_bytes(&w->f, name, auxv, sizeof(auxv));
}

/* Both were there before the capture. */
static uint32_t found_sources(char of_child, bool is_tracked)
{
	pid_t parent = is_tracked ? PID : 77;
	struct jit_sources src;
	struct test_world w;
	uint32_t nr;

	world_init(&w, 4);
	map(&w, "A");
	write_process(&w, 77, 1);
	fake_write(&w.f, "77/root/tmp/perf-77.map", "A");
	write_process(&w, CHILD, parent);
	write_auxv(&w, parent, 'x');
	if (of_child)
		write_auxv(&w, CHILD, of_child);
	must(tracker_scan(w.tracker, 12, CHILD) == 0);
	(void)get_of(&w, CHILD, 30, &src);
	nr = src.nr_symbol_files;
	must(nr == 1 || first_byte_of(src.symbol_files[1].map_fd) == 'A');
	jit_sources_done(&src);
	world_done(&w);
	return nr;
}

static void test_found(void)
{
	ok(found_sources('x', true) == 2,
	   "a child found running uses its parent's map if both come from one exec");
	ok(found_sources('x', false) == 2, "a child found running uses its parent's map even if "
					   "nothing else is known of the parent");
	ok(found_sources('y', true) == 1,
	   "a child found running uses no map if one of the two has run exec since");
	ok(found_sources(0, true) == 1, "a child found running uses no map if that is unknown");
}

/* Maps a file of that name into a process. */
static void map_dump(struct test_world *w, pid_t pid, uint64_t time_ns, uint64_t start,
		     const char *name, const char *text)
{
	struct mmap_event e = {
		.time_ns = time_ns, .pid = pid, .start = start, .end = start + 0x1000
	};
	char path[PATH_MAX], link[64];

	fake_write(&w->f, name, text);
	e.path = fake_path(&w->f, name, path);
	e.key = fake_key(&w->f, name);
	snprintf(link, sizeof(link), "%d/map_files/%lx-%lx", pid, (unsigned long)start,
		 (unsigned long)start + 0x1000);
	fake_link(&w->f, link, path);
	must(tracker_mmap(w->tracker, &e) == 0);
}

static void test_forked_dump(void)
{
	struct jit_sources src;
	struct test_world w;

	world_init(&w, 4);
	map_dump(&w, PID, 15, 0x5000, "jit-7.dump", "P");
	write_process(&w, CHILD, PID);
	must(tracker_fork(w.tracker, 25, CHILD, PID) == 0);
	(void)get_of(&w, CHILD, 30, &src);
	ok(src.nr_symbol_files == 2 && src.symbol_files[0].dump_fd < 0 &&
		   first_byte_of(src.symbol_files[1].dump_fd) == 'P' &&
		   src.symbol_files[1].until_ns == 25,
	   "an inherited jitdump counts as of the fork");
	ok(jit_files_has_dump(w.jit, tracker_find(w.tracker, CHILD, 30), 30) == 0,
	   "with an inherited jitdump the time of a sample does not matter");
	jit_sources_done(&src);
	map_dump(&w, CHILD, 40, 0x6000, "jit-5000.dump", "C");
	ok(jit_files_has_dump(w.jit, tracker_find(w.tracker, CHILD, 45), 45) == 1,
	   "with its own jitdump the time of a sample matters");
	(void)get_of(&w, CHILD, 50, &src);
	ok(first_byte_of(src.symbol_files[0].dump_fd) == 'C' &&
		   first_byte_of(src.symbol_files[1].dump_fd) == 'P',
	   "a child with its own jitdump uses both, its own first");
	jit_sources_done(&src);
	world_done(&w);
}

/* There is an end to it. */
static void test_moments_are_bounded(void)
{
	struct jit_address address = { .addr = CODE, .time_ns = 30 };
	struct jit_moment m = { .time_ns = 30 };
	const int64_t values[] = { 1, 5 };
	const struct jit_program *p;
	struct jit_samples j;
	uint32_t nr = 0;
	int r;

	jit_samples_init(&j, 2);
	must(jit_samples_add_address(&j, 7, &address) == 0);
	while ((r = jit_samples_keep(&j, 7, &m, values)) == 0)
		nr++;
	p = jit_samples_find(&j, 7);
	ok(r == -E2BIG && nr == 1u << 22, "at most %u samples are kept for their time", nr);
	ok(p->nr_moments == nr && p->nr_addresses == 1 && p->addresses[0].addr == CODE &&
		   j.values[2 * p->moments[nr - 1].number + 1] == 5 && !jit_samples_find(&j, 8),
	   "deferred samples have their program's addresses and values");
	jit_samples_drop_moments(&j);
	ok(p->nr_moments == 0 && jit_samples_keep(&j, 7, &m, values) == 0,
	   "after they are placed there is room again");
	jit_samples_done(&j);
}

int main(void)
{
	if (!can_open_in_root()) {
		tap_skip("needs openat2()");
		return tap_done();
	}
	test_forked();
	test_forked_dropped();
	test_forked_refused();
	test_found();
	test_forked_dump();
	test_moments_are_bounded();
	return tap_done();
}
