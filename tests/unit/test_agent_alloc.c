/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture from raw records to written files, over and over, each time with another one of our own
 * allocations failing: no crash, nothing left allocated.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <zlib.h>

#include "failing_alloc.h"
#include "replay.h"
#include "tap.h"
#include "write/writer.h"

#define EVERY_UP_TO 2000 /* each of the first 2,000 allocations fails once, then a sample of them */
#define SAMPLED_RUNS 500

static char directory[] = "/tmp/perf-agent-test.XXXXXX";
static char kallsyms_path[64];
static unsigned long naming_first, naming_last; /* allocations of the last run that were naming's */

/* A kernel of two functions: the real list would take most of the test's time. */
static void make_kallsyms(void)
{
	FILE *f;

	snprintf(kallsyms_path, sizeof(kallsyms_path), "%s/kallsyms", directory);
	f = fopen(kallsyms_path, "we");
	must(f);
	fprintf(f, "%llx T _stext\n%llx t schedule\t[module]\n", REPLAY_KERNEL_PC - 16,
		REPLAY_KERNEL_PC + 32);
	fclose(f);
}

static int write_one(const struct capture *c, const struct writer *w, const char *name)
{
	_cleanup_(outfile_freep) struct outfile *f = NULL;
	struct pa_error err = { 0 };
	struct outfile_options opts = { 0 };
	char path[256];
	int r;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	r = outfile_open(path, &opts, &f, &err);
	if (r == 0)
		r = w->write(c->profile, f, NULL, &err);
	if (r == 0)
		r = outfile_commit(f, &err);
	return r;
}

static int whole_capture(struct capture_stats *ret_stats)
{
	_cleanup_(capture_freep) struct capture *c = NULL;
	struct capture_config cfg = { .proc_root = "/proc",
				      .kallsyms_path = kallsyms_path,
				      .all = true,
				      .period_ns = 1000000,
				      .naming_workers = 1, /* allocation n is always the same */
				      .max_fds = 64 };
	/* A small library: reading the debug file of libc a thousand times takes minutes. */
	uint64_t code[] = { (uint64_t)(uintptr_t)whole_capture, (uint64_t)(uintptr_t)zlibVersion,
			    (uint64_t)(uintptr_t)crc32 };
	int r = capture_new(&cfg, NULL, &c);

	if (r == 0)
		r = replay_story(c, code, 3);
	naming_first = nr_allocations + 1;
	if (r == 0)
		r = capture_name(c, NULL);
	naming_last = nr_allocations;
	if (r == 0)
		r = write_one(c, &writer_pprof, "a.pb.gz");
	if (r == 0)
		r = write_one(c, &writer_folded, "a.folded");
	if (ret_stats && c)
		*ret_stats = c->stats;
	return r;
}

static int run(unsigned long n, struct capture_stats *ret_stats)
{
	nr_allocations = 0;
	nr_live = 0;
	fail_at = n;
	return whole_capture(ret_stats);
}

static bool fails_cleanly(unsigned long n)
{
	struct capture_stats st = { 0 };
	int r = run(n, &st);
	uint64_t accounted = st.nr_kept + st.nr_bad + st.nr_model_full + st.nr_no_memory;

	if (nr_live != 0)
		printf("# allocation %lu: %ld blocks are left\n", n, nr_live);
	if (r == 0 && accounted != st.nr_records)
		printf("# allocation %lu: %lu of %lu samples accounted for\n", n,
		       (unsigned long)accounted, (unsigned long)st.nr_records);
	return nr_live == 0 && (r < 0 || accounted == st.nr_records);
}

/* Naming needs ten blocks of its own; all that it asks for on behalf of one file or address costs
 * names only. */
static void test_naming_keeps_the_profile(unsigned long every)
{
	struct capture_stats st = { 0 };
	unsigned long first, last, runs = 0, nr_lost = 0;

	must(run(0, &st) == 0);
	first = naming_first + 10;
	last = naming_last;
	for (unsigned long n = first; n <= last; n += every, runs++)
		if (run(n, &st) < 0)
			nr_lost++;
	ok(first < last && nr_lost == 0,
	   "%lu of %lu failing allocations while naming cost the profile", nr_lost, runs);
}

static void remove_files(void)
{
	static const char *const names[] = { "a.pb.gz", "a.folded", "kallsyms" };
	char path[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		unlink(path);
	}
	rmdir(directory);
}

int main(void)
{
	struct capture_stats st = { 0 };
	unsigned long total, step, runs = 0;
	bool clean = true;
	unsigned long every = failing_alloc_step();

	must(mkdtemp(directory));
	make_kallsyms();
	ok(run(0, &st) == 0, "the capture succeeds when nothing fails");
	ok(st.nr_kept == REPLAY_SAMPLES + 1, "every sample is in the model");
	ok(nr_live == 0, "nothing is left allocated");
	total = nr_allocations;
	printf("# %lu allocations\n", total);
	for (unsigned long n = 1; n <= total && n <= EVERY_UP_TO; n += every, runs++)
		clean = fails_cleanly(n) && clean;
	step = total > EVERY_UP_TO ? (total - EVERY_UP_TO) / SAMPLED_RUNS * every + 1 : 1;
	for (unsigned long n = EVERY_UP_TO + 1; n <= total; n += step, runs++)
		clean = fails_cleanly(n) && clean;
	ok(clean, "each of %lu failing allocations ends in an error or a counted loss, and no leak",
	   runs);
	test_naming_keeps_the_profile(every);
	remove_files();
	return tap_done();
}
