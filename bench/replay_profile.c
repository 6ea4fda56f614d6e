// SPDX-License-Identifier: Apache-2.0
/*
 * replay_profile PATH: 20,000 records of made-up processes, in libraries that every build shares, through
 * the whole pipe, named and written to PATH.pb.gz and PATH.folded. bench/compare_replay.py runs it in two
 * builds: what changes no behaviour changes no byte.
 *
 * With OLD_CAPTURE it is built in a tree in which world, pipe and model were one structure: the records are the same
 * plain values there (tests/replay.h), only written in the format of that time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "replay.h"
#include "write/writer.h"

#ifdef OLD_CAPTURE
#define PROFILE(c) ((c)->profile)
#define CONFIG struct capture_config
#define PERIOD .period_ns = 1000000,
#else
#define PROFILE(c) ((c)->model->profile)
#define CONFIG struct world_config
#define PERIOD
#endif

#define RECORDS 20000
#define RECORDS_PER_TURN 100

static int write_profile(const struct profile *p, const struct writer *w, const char *path,
			 const char *suffix)
{
	_cleanup_(outfile_freep) struct outfile *f = NULL;
	struct outfile_options opts = { 0 };
	struct pa_error err = { 0 };
	char name[4096];
	int r;

	snprintf(name, sizeof(name), "%s.%s", path, suffix);
	r = outfile_open(name, &opts, &f, &err);
	if (r == 0)
		r = w->write(p, f, NULL, &err);
	return r < 0 ? r : outfile_commit(f, &err);
}

static int replay_all(struct capture *c)
{
	const uint64_t code[] = {
		(uint64_t)(uintptr_t)qsort + 20,
		(uint64_t)(uintptr_t)getenv + 9,
		(uint64_t)(uintptr_t)deflate + 30,
		(uint64_t)(uintptr_t)strtoull + 4,
	};
	int r = capture_use_tables(c, NULL);

	if (r == 0)
		r = replay_processes(c, code, 4);
	for (unsigned int i = 0; i < RECORDS && r == 0; i++) {
		r = replay_one(c, i, code, 4);
		if (r == 0 && i % RECORDS_PER_TURN == 0)
			r = capture_settle(c, false);
	}
	return r < 0 ? r : replay_story(c, code, 4);
}

int main(int argc, char **argv)
{
	_cleanup_(capture_freep) struct capture *c = NULL;
	CONFIG cfg = { PERIOD.proc_root = "/proc", .kallsyms_path = "/proc/kallsyms", .all = true,
		       .max_fds = 64, .naming_workers = 1 };
	int r = argc > 1 ? capture_new(&cfg, NULL, &c) : -EINVAL;

	if (r == 0)
		r = replay_all(c);
	if (r == 0)
		r = capture_name(c, NULL);
	if (r == 0)
		r = write_profile(PROFILE(c), &writer_pprof, argv[1], "pb.gz");
	if (r == 0)
		r = write_profile(PROFILE(c), &writer_folded, argv[1], "folded");
	if (r < 0)
		return 1;
	printf("%u samples in %u stacks\n", PROFILE(c)->nr_samples, PROFILE(c)->nr_stacks);
	return 0;
}
