/* SPDX-License-Identifier: Apache-2.0 */
/* What a child goes on with after a fork, and samples that are kept for their time. */
#include "jit_world.h"

#define CHILD 5000

static enum jit_map get_of(struct world *w, pid_t pid, uint64_t time_ns, struct jit_sources *src)
{
	const struct process *p = tracker_find(w->tracker, pid, time_ns);

	must(p);
	jit_files_note(w->jit, p, pid, CODE, time_ns);
	return jit_files_get(w->jit, process_program(p, time_ns), src);
}

static void write_process(struct world *w, pid_t pid, pid_t ppid)
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
	struct world w;

	world_init(&w, 4);
	map(&w, "A");
	write_process(&w, CHILD, PID);
	must(tracker_fork(w.tracker, 25, CHILD, PID) == 0);
	ok(get_of(&w, CHILD, 30, &src) == JIT_MAP_NONE && src.nr_told == 2 &&
		   src.told[0].map_fd < 0 && first_byte_of(src.told[1].map_fd) == 'A' &&
		   src.told[0].until_ns == UINT64_MAX && src.told[1].until_ns == 25,
	   "a child without a map has its parent's, until the fork");
	jit_sources_done(&src);
	fake_write(&w.f, "5000/root/tmp/perf-5000.map", "C");
	ok(get_of(&w, CHILD, 31, &src) == JIT_MAP_OPEN && src.nr_told == 2 &&
		   first_byte_of(src.told[0].map_fd) == 'C' &&
		   first_byte_of(src.told[1].map_fd) == 'A',
	   "its own comes first");
	jit_sources_done(&src);
	must(tracker_fork(w.tracker, 40, CHILD + 1, CHILD) == 0);
	ok(get_of(&w, CHILD + 1, 50, &src) != JIT_MAP_OPEN && src.nr_told == 3 &&
		   first_byte_of(src.told[1].map_fd) == 'C' && src.told[1].until_ns == 40 &&
		   first_byte_of(src.told[2].map_fd) == 'A' && src.told[2].until_ns == 25,
	   "its child has both, each until its own fork");
	jit_sources_done(&src);
	must(tracker_exec(w.tracker, 60, CHILD) == 0);
	(void)get_of(&w, CHILD, 70, &src);
	ok(src.nr_told == 1, "after an exec nothing is inherited");
	jit_sources_done(&src);
	world_done(&w);
}

/* A parent is named before its children, and its map is gone by then. */
static void test_forked_dropped(void)
{
	const struct process *parent, *child;
	struct jit_sources src;
	unsigned int nr_files;
	struct world w;

	world_init(&w, 4);
	nr_files = nr_open_files();
	map(&w, "A");
	write_process(&w, CHILD, PID);
	must(tracker_fork(w.tracker, 25, CHILD, PID) == 0);
	note(&w, CODE, 30);
	parent = process(&w);
	child = tracker_find(w.tracker, CHILD, 30);
	jit_files_note(w.jit, child, CHILD, CODE, 30);
	must(get(&w, &src) == JIT_MAP_OPEN);
	jit_sources_done(&src);
	jit_files_drop(w.jit, process_program(parent, 20));
	fake_unlink(&w.f, "4242/root/tmp/perf-7.map");
	(void)get_of(&w, CHILD, 30, &src);
	ok(src.nr_told == 2 && first_byte_of(src.told[1].map_fd) == 'A',
	   "a parent's map is kept as long as a child is to be named by it");
	jit_sources_done(&src);
	jit_files_drop(w.jit, process_program(child, 30));
	ok(nr_open_files() == nr_files, "and no longer");
	world_done(&w);
}

static void test_forked_refused(void)
{
	struct jit_sources src;
	struct world w;

	world_init(&w, 4);
	map(&w, "A");
	write_status(&w, geteuid() + 1, "4242\t7");
	write_process(&w, CHILD, PID);
	must(tracker_fork(w.tracker, 25, CHILD, PID) == 0);
	(void)get_of(&w, CHILD, 30, &src);
	ok(src.nr_told == 2 && src.told[1].map_fd < 0, "a parent's map must be its user's");
	jit_sources_done(&src);
	world_done(&w);
	world_init(&w, 4);
	map(&w, "A");
	write_process(&w, CHILD, PID);
	must(tracker_fork(w.tracker, 25, CHILD, PID) == 0 && tracker_exec(w.tracker, 27, PID) == 0);
	(void)get_of(&w, CHILD, 30, &src);
	ok(src.nr_told == 2 && src.told[1].map_fd < 0,
	   "that of a parent which runs another program now is not believed");
	jit_sources_done(&src);
	world_done(&w);
	world_init(&w, 4);
	map(&w, "A");
	write_process(&w, CHILD, PID);
	must(tracker_fork(w.tracker, 25, CHILD, PID) == 0 &&
	     tracker_fork(w.tracker, 27, PID, 1) == 0);
	(void)get_of(&w, CHILD, 30, &src);
	ok(src.nr_told == 2 && src.told[1].map_fd < 0, "nor that of another under its PID");
	jit_sources_done(&src);
	world_done(&w);
}

/* The kernel chose an address at random for AT_RANDOM. */
static void write_auxv(struct world *w, pid_t pid, char random)
{
	const uint64_t auxv[] = { 6, 4096, 25, 0x1000u * (unsigned char)random, 0, 0 };
	char name[64];

	snprintf(name, sizeof(name), "%d/auxv", pid);
	fake_write_bytes(&w->f, name, auxv, sizeof(auxv));
}

/* Both were there before the capture. */
static uint32_t found_told(char of_child, bool is_tracked)
{
	pid_t parent = is_tracked ? PID : 77;
	struct jit_sources src;
	struct world w;
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
	nr = src.nr_told;
	must(nr == 1 || first_byte_of(src.told[1].map_fd) == 'A');
	jit_sources_done(&src);
	world_done(&w);
	return nr;
}

static void test_found(void)
{
	ok(found_told('x', true) == 2, "a child that was found has its parent's, of the same exec");
	ok(found_told('x', false) == 2, "also if nothing else is known of the parent");
	ok(found_told('y', true) == 1, "not if one of them has run another program since");
	ok(found_told(0, true) == 1, "nor if that is not known");
}

/* Maps a file of that name into a process. */
static void map_dump(struct world *w, pid_t pid, uint64_t time_ns, uint64_t start, const char *name,
		     const char *text)
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
	struct jit_moment m = { .time_ns = 30 };
	struct jit_sources src;
	struct world w;

	world_init(&w, 4);
	map_dump(&w, PID, 15, 0x5000, "jit-7.dump", "P");
	write_process(&w, CHILD, PID);
	must(tracker_fork(w.tracker, 25, CHILD, PID) == 0);
	(void)get_of(&w, CHILD, 30, &src);
	ok(src.nr_told == 2 && src.told[0].dump_fd < 0 &&
		   first_byte_of(src.told[1].dump_fd) == 'P' && src.told[1].until_ns == 25,
	   "an inherited jitdump counts until the fork");
	ok(jit_files_keep(w.jit, tracker_find(w.tracker, CHILD, 30), &m) == 0,
	   "for which the time of a sample does not matter");
	jit_sources_done(&src);
	map_dump(&w, CHILD, 40, 0x6000, "jit-5000.dump", "C");
	m.time_ns = 45;
	ok(jit_files_keep(w.jit, tracker_find(w.tracker, CHILD, 45), &m) == 1,
	   "with a jitdump of its own it does");
	(void)get_of(&w, CHILD, 50, &src);
	ok(first_byte_of(src.told[0].dump_fd) == 'C' && first_byte_of(src.told[1].dump_fd) == 'P',
	   "it has both, its own first");
	jit_sources_done(&src);
	world_done(&w);
}

/* 24 bytes each: there is an end to it. */
static void test_moments_are_bounded(void)
{
	struct jit_moment m = { .time_ns = 30 };
	const struct process *p;
	struct jit_kept kept;
	uint32_t at = 0, nr = 0;
	struct world w;
	int r;

	world_init(&w, 4);
	map_dump(&w, PID, 15, 0x5000, "jit-7.dump", "P");
	note(&w, CODE, 30);
	p = process(&w);
	while ((r = jit_files_keep(w.jit, p, &m)) > 0)
		nr++;
	ok(r == -E2BIG && nr == 1u << 22, "%u samples are kept for their time, no more", nr);
	ok(jit_files_next_kept(w.jit, &at, &kept) && kept.nr_moments == nr &&
		   kept.nr_addresses == 1 && first_byte_of(kept.dump_fd) == 'P',
	   "with their process's addresses and dump");
	jit_files_drop_kept(w.jit, kept.process);
	at = 0;
	ok(!jit_files_next_kept(w.jit, &at, &kept) && jit_files_keep(w.jit, p, &m) == 1,
	   "then there is room again");
	world_done(&w);
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
