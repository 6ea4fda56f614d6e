/* SPDX-License-Identifier: Apache-2.0 */
/* A process with code of its own making, and who looks for what it tells of that. */
#ifndef TESTS_UNIT_JIT_WORLD_H
#define TESTS_UNIT_JIT_WORLD_H

#include "names/jit_files.h"

#include <dirent.h>

#include "base/clock.h"
#include "fake_proc.h"
#include "proc/tracker.h"

#define PID 4242
#define CODE 0x7f0000001000ull

struct test_world {
	struct fake f;
	struct filestore *files;
	struct tracker *tracker;
	struct jit_files *jit;
};

__attribute__((unused)) static void write_status(struct test_world *w, uid_t euid, const char *pids)
{
	char text[256];

	snprintf(text, sizeof(text), "Name:\tnode\nUid:\t%u\t%u\t%u\t%u\nNSpid:\t%s\n", euid, euid,
		 euid, euid, pids);
	fake_write(&w->f, "4242/status", text);
}

/* A process with code and no file behind it. */
__attribute__((unused)) static void world_init(struct test_world *w, unsigned int max_fds)
{
	fake_init(&w->f);
	fake_write(&w->f, "4242/maps", "7f0000001000-7f0000003000 r-xp 00000000 00:00 0 \n");
	fake_write(&w->f, "4242/stat", "4242 (node) R 1 1 1");
	fake_write(&w->f, "4242/comm", "node\n");
	fake_write(&w->f, "4242/root/tmp/other", "");
	write_status(w, geteuid(), "4242\t7");
	must(filestore_new(&w->f.procfs, 8, &w->files) == 0);
	must(tracker_new(&w->f.procfs, w->files, &w->tracker) == 0);
	must(jit_files_new(&w->f.procfs, w->files, w->tracker, max_fds, &w->jit) == 0);
	must(tracker_scan(w->tracker, 10, PID) == 0);
}

__attribute__((unused)) static void world_done(struct test_world *w)
{
	jit_files_free(w->jit);
	tracker_free(w->tracker);
	filestore_free(w->files);
	fake_done(&w->f);
}

__attribute__((unused)) static const struct process *process(const struct test_world *w)
{
	return tracker_find(w->tracker, PID, 20);
}

__attribute__((unused)) static void note(struct test_world *w, uint64_t time_ns)
{
	jit_files_look(w->jit, process(w), PID, time_ns);
}

__attribute__((unused)) static void map(struct test_world *w, const char *text)
{
	fake_write(&w->f, "4242/root/tmp/perf-7.map", text);
}

__attribute__((unused)) static enum jit_map ask(struct test_world *w, uint64_t program,
						struct jit_sources *src)
{
	struct jit_looks looks;

	jit_files_list_looks(w->jit, program, true, &looks);
	jit_looks_open(&looks, &w->f.procfs);
	*src = (struct jit_sources){ 0 };
	return jit_files_get(w->jit, program, &looks, src->symbol_files, &src->nr_symbol_files);
}

__attribute__((unused)) static void jit_sources_done(struct jit_sources *src)
{
	for (uint32_t i = 0; i < src->nr_symbol_files; i++) {
		closep(&src->symbol_files[i].map_fd);
		closep(&src->symbol_files[i].dump_fd);
	}
	src->nr_symbol_files = 0;
}

__attribute__((unused)) static enum jit_map get(struct test_world *w, struct jit_sources *src)
{
	return ask(w, process_program(process(w), 20), src);
}

__attribute__((unused)) static char first_byte_of(int fd)
{
	char c = 0;

	return pread(fd, &c, 1, 0) == 1 ? c : 0;
}

__attribute__((unused)) static unsigned int nr_open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int nr = 0;

	must(d);
	while (readdir(d))
		nr++;
	closedir(d);
	return nr;
}

static bool can_open_in_root(void)
{
	struct fake f;
	bool can;

	fake_init(&f);
	can = fake_can_open_in_root(&f);
	fake_done(&f);
	return can;
}

#endif
