/* SPDX-License-Identifier: Apache-2.0 */
/* Memory stays bounded however often processes change, and however many mappings they have. */
#include <malloc.h>
#include <time.h>

#include "tracker_world.h"

/* Processes that fork, execute a file of their own, exit, under PIDs that come back: what is kept is what
 * is alive, and what ended a moment ago. */
static void test_churn_is_bounded(void)
{
	uint32_t most = 0, most_files = 0;
	struct test_world w;

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
	ok(most <= 5, "forget: of 5000 processes at most %u are kept at a time", most);
	ok(most_files <= 5, "forget: of as many files at most %u are kept", most_files);
	ok(is_at(&w, 5, 0x1000, 60000, "/parent"), "forget: the parent's mapping holds its file");
	world_done(&w);
}

static void test_versions_are_bounded(void)
{
	struct test_world w;

	world_init(&w);
	for (uint64_t i = 0; i < TRACKER_MAX_VERSIONS + 10; i++)
		must(map_at(&w, 100 + i, 5, 0x1000, 0x2000, i % 2 ? "//anon" : "[vdso]") == 0);
	ok(tracker_losses(w.t).nr_versions == TRACKER_MAX_VERSIONS / 2,
	   "a process that remaps forever loses its oldest history, which is counted");
	ok(mapping_at(&w, 5, 0x1000, 100 + TRACKER_MAX_VERSIONS)->kind == MAPPING_VDSO &&
		   mapping_at(&w, 5, 0x1000, 101 + TRACKER_MAX_VERSIONS)->kind == MAPPING_ANON,
	   "a process that remaps forever has its newest mappings");
	world_done(&w);
}

/* munmap() has no event: /proc has the one mapping that is left. */
static void test_unmapped_are_dropped(void)
{
	uint32_t most = 0;
	struct test_world w;

	world_init(&w);
	fake_write(&w.fake, "5/stat", "5 (x) S 1 5 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0\n");
	fake_write(&w.fake, "5/maps", "1000-2000 r-xp 00000100 00:63 1 /stays\n");
	for (uint64_t i = 0; i < 20000; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/new%llu", (unsigned long long)i);
		must(map_at(&w, 100 + i, 5, (i + 1) << 13, ((i + 1) << 13) + 0x1000, path) == 0);
		if (i % 100 == 0) {
			tracker_forget(w.t, 100 + i);
			filestore_sweep(w.files, NULL, NULL);
		}
		if (filestore_nr_held(w.files) > most)
			most = filestore_nr_held(w.files);
	}
	ok(most <= TRACKER_CHECK_MAPPINGS + 200,
	   "unmapped: of 20,000 files mapped at ever new addresses at most %u are kept", most);
	ok(is_at(&w, 5, 0x1000, 30000, "/stays") && is_at(&w, 5, 20000 << 13, 30000, "/new19999"),
	   "unmapped: what is mapped is not dropped");
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
	struct test_world w;
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
	ok(insert_s < 5 && fork_s < 5, "many mappings and many children take little time");
	ok(fork_bytes < insert_bytes * 2 + (4u << 20),
	   "many mappings and many children take little memory");
	world_done(&w);
}

int main(void)
{
	test_churn_is_bounded();
	test_versions_are_bounded();
	test_unmapped_are_dropped();
	test_large(false);
	test_large(true);
	return tap_done();
}
