/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_publish [PROCESSES [FILES]]: many processes that have the same many files mapped, whose tables
 * become ready one after the other. What is printed does not depend on the machine; instructions do
 * not, either: valgrind --tool=callgrind --toggle-collect=unwinder_publish.
 */
#include <inttypes.h>

#define NR_BLOCKS (1u << 20)
#define NR_MAPPINGS (1u << 19)
#include "base/clock.h"
#include "stacks/unwinder_internal.h"
#include "unit/bare_maker.h"
#include "unit/fake_maps.h"

#define FIRST_PID 1000

struct scene {
	struct test_world maps;
	struct fake fake;
	struct filestore *store;
	struct tracker *tracker;
	struct unwinder *u;
	uint32_t nr_processes, nr_files;
};

static void write_file(const struct scene *s, uint32_t i)
{
	char name[32], link[64], target[PATH_MAX];
	struct elf_maker m;

	snprintf(name, sizeof(name), "prog%u", i);
	snprintf(link, sizeof(link), "%u/map_files/%x-%x", FIRST_PID, 0x100000 * (i + 1),
		 0x100000 * (i + 1) + BARE_BYTES);
	bare_begin(&m, BARE_BUILD_ID);
	bare_code(&m);
	bare_frames(&m, false, CODE, 16 + 16 * (i % 200), 16);
	bare_end(&m, &s->fake, name);
	fake_link(&s->fake, link, fake_path(&s->fake, name, target));
}

static void map_file(const struct scene *s, pid_t pid, uint32_t i)
{
	char name[32], path[PATH_MAX];
	struct mmap_event e = { .time_ns = 1 + i,
				.pid = pid,
				.start = 0x100000 * (uint64_t)(i + 1) };

	snprintf(name, sizeof(name), "prog%u", i);
	e.end = e.start + BARE_BYTES;
	e.key = fake_key(&s->fake, name);
	e.path = fake_path(&s->fake, name, path);
	must(tracker_mmap(s->tracker, &e) == 0);
}

static void begin(struct scene *s)
{
	struct unwind_files_config cfg = { .max_bytes = SIZE_MAX, .is_inline = true };

	s->maps = new_world(SIZE_MAX);
	fake_init(&s->fake);
	must(filestore_new(&s->fake.procfs, s->nr_files, &s->store) == 0);
	must(tracker_new(&s->fake.procfs, s->store, &s->tracker) == 0);
	cfg.store = s->store;
	cfg.tables = s->maps.t;
	must(unwinder_new(s->tracker, &s->fake.procfs, &cfg, &s->u) == 0);
	for (uint32_t i = 0; i < s->nr_files; i++)
		write_file(s, i);
	for (uint32_t k = 0; k < s->nr_processes; k++)
		for (uint32_t i = 0; i < s->nr_files; i++)
			map_file(s, (pid_t)(FIRST_PID + k), i);
	for (uint32_t k = 0; k < s->nr_processes; k++)
		unwinder_touch(s->u, (pid_t)(FIRST_PID + k));
	(void)unwinder_publish(s->u);
}

static void end(struct scene *s)
{
	unwinder_free(s->u);
	tracker_free(s->tracker);
	filestore_free(s->store);
	fake_done(&s->fake);
	end_world(&s->maps);
}

/* In each turn a walk of the first process needs one more file. */
static void run(struct scene *s)
{
	const struct process *p = tracker_find(s->tracker, FIRST_PID, UINT64_MAX);

	for (uint32_t i = 0; i < s->nr_files; i++) {
		const struct mapping *m =
			process_mapping(p, 0x100000 * (uint64_t)(i + 1), UINT64_MAX);

		must(m && !unwind_files_ask(&s->u->files, m));
		unwinder_give(s->u);
		unwinder_take(s->u);
		(void)unwinder_publish(s->u);
	}
}

int main(int argc, char **argv)
{
	struct scene s = { .nr_processes = argc > 1 ? (uint32_t)atoi(argv[1]) : 500,
			   .nr_files = argc > 2 ? (uint32_t)atoi(argv[2]) : 200 };
	uint32_t nr_first_lists;
	uint64_t start_ns;

	begin(&s);
	nr_first_lists = nr_lists;
	start_ns = clock_mono_ns();
	run(&s);
	printf("publish: %u processes, %u files: %u lists written, %.1f ms\n", s.nr_processes,
	       s.nr_files, nr_lists - nr_first_lists, (double)(clock_mono_ns() - start_ns) / 1e6);
	end(&s);
	return 0;
}
