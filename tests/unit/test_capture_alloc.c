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
#include "perfdata/perf_data.h"
#include "replay.h"
#include "tap.h"
#include "write/writer.h"

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
		r = w->write(c->model->profile, f, NULL, &err);
	if (r == 0)
		r = outfile_commit(f, &err);
	return r;
}

/* From raw records to a file that is written meanwhile. */
static int stream_capture(struct capture *c, const uint64_t *code, unsigned int nr_code)
{
	_cleanup_(outfile_freep) struct outfile *f = NULL;
	_cleanup_(perf_data_freep) struct perf_data *d = NULL;
	struct perf_data_config cfg = { .world = c->world,
					.values = &cpu_values,
					.sampling = { .rate_hz = 1000 } };
	char path[256];
	int r;

	snprintf(path, sizeof(path), "%s/a.data", directory);
	r = outfile_open(path, NULL, &f, NULL);
	cfg.file = f;
	if (r == 0)
		r = perf_data_new(&cfg, &d, NULL);
	if (r == 0)
		r = pipe_add_sink(c->pipe, 0, perf_data_sink(d));
	if (r == 0)
		r = replay_story(c, code, nr_code);
	if (r == 0)
		r = perf_data_finish(d, 0, NULL);
	return r < 0 ? r : outfile_commit(f, NULL);
}

static int whole_capture(struct capture_stats *ret_stats)
{
	_cleanup_(capture_freep) struct capture *c = NULL;
	struct world_config cfg = { .proc_root = "/proc",
				    .kallsyms_path = kallsyms_path,
				    .all = true,
				    .naming_workers = 1, /* allocation n is always the same */
				    .max_fds = 64 };
	/* A small library: reading the debug file of libc a thousand times takes minutes. */
	uint64_t code[] = { (uint64_t)(uintptr_t)whole_capture, (uint64_t)(uintptr_t)zlibVersion,
			    (uint64_t)(uintptr_t)crc32 };
	int r = capture_new(&cfg, NULL, &c);

	if (r == 0)
		r = stream_capture(c, code, 3);
	naming_first = nr_allocations + 1;
	if (r == 0)
		r = capture_name(c, NULL);
	naming_last = nr_allocations;
	if (r == 0)
		r = write_one(c, &writer_pprof, "a.pb.gz");
	if (r == 0)
		r = write_one(c, &writer_folded, "a.folded");
	if (ret_stats && c)
		*ret_stats = capture_all_stats(c);
	return r;
}

static int run(unsigned long n, struct capture_stats *ret_stats)
{
	nr_allocations = 0;
	nr_live = 0;
	fail_at = n;
	return whole_capture(ret_stats);
}

/* What is found by letting each of some allocations fail. */
struct outcome {
	unsigned long nr_runs, nr_naming; /* of these: one of naming's failed */
	unsigned long nr_lost;            /* ... and the profile with it */
	bool is_clean;
};

static bool fails_cleanly(unsigned long n, int r, const struct capture_stats *st)
{
	bool adds_up = capture_adds_up(st);

	if (nr_live != 0)
		printf("# allocation %lu: %ld blocks are left\n", n, nr_live);
	if (r == 0 && !adds_up)
		printf("# allocation %lu: %lu samples do not add up\n", n,
		       (unsigned long)st->pipe.nr_records);
	return nr_live == 0 && (r < 0 || adds_up);
}

/* Naming needs ten blocks of its own; all that it asks for on behalf of one file or address costs
 * names only. */
static void fail_each(unsigned long total, unsigned long every, struct outcome *to)
{
	unsigned long first = naming_first + 10, last = naming_last;

	for (unsigned long n = 1; n <= total; n += every) {
		struct capture_stats st = { 0 };
		bool is_naming = n >= first && n <= last;
		int r = run(n, &st);

		to->is_clean = fails_cleanly(n, r, &st) && to->is_clean;
		to->nr_runs++;
		to->nr_naming += is_naming;
		to->nr_lost += is_naming && r < 0;
	}
}

static void remove_files(void)
{
	static const char *const names[] = { "a.pb.gz", "a.folded", "a.data", "kallsyms" };
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
	struct outcome seen = { .is_clean = true };

	must(mkdtemp(directory));
	make_kallsyms();
	ok(run(0, &st) == 0, "the capture succeeds when nothing fails");
	ok(st.model.nr_kept == REPLAY_SAMPLES + 1,
	   "without failing allocations every sample is in the model");
	ok(nr_live == 0, "without failing allocations nothing leaks");
	printf("# %lu allocations\n", nr_allocations);
	fail_each(nr_allocations, failing_alloc_step(), &seen);
	ok(seen.is_clean,
	   "each of %lu failing allocations ends in an error or a counted loss, without a leak",
	   seen.nr_runs);
	ok(seen.nr_naming > 0 && seen.nr_lost == 0,
	   "%lu of %lu failing allocations during symbolization lose the profile", seen.nr_lost,
	   seen.nr_naming);
	remove_files();
	return tap_done();
}
