/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a model, ranks it and writes it, over and over, each time with another
 * allocation that fails: every failure must come back as -ENOMEM, and nothing may be left behind.
 */
#include <errno.h>
#include <string.h>

#include "digest/commands.h"
#include "digest/functions.h"
#include "digest/hot_paths.h"
#include "digest/top.h"
#include "failing_alloc.h"
#include "profile/profile.h"
#include "tap.h"
#include "write/writer.h"

#define MAX_ALLOCATIONS 5000

static int add_one(struct profile *p, uint32_t mapping, uint64_t i)
{
	struct profile_function f = { .mapping = mapping };
	struct profile_label label = { .num = (int64_t)i };
	struct profile_line line = { 0 };
	int64_t values[3] = { 1, 1, 1 };
	uint32_t location, stack, labels;
	char name[32];
	int r;

	snprintf(name, sizeof(name), "function_%d\xff", (int)i);
	r = profile_string(p, name, &f.name);
	if (r == 0)
		r = profile_string(p, "pid", &label.key);
	if (r == 0)
		r = profile_location(p, mapping, 0x1000 + i, &location);
	if (r == 0)
		r = profile_function(p, &f, &line.function);
	if (r == 0 && i % 2)
		r = profile_set_lines(p, location, &line, 1, true);
	if (r == 0)
		r = profile_stack(p, &location, 1, &stack);
	if (r == 0)
		r = profile_label_set(p, &label, 1, &labels);
	return r < 0 ? r : profile_add(p, stack, labels, values);
}

static int fill(struct profile *p)
{
	struct profile_mapping m = { .start = 0x1000, .limit = 0x2000 };
	uint32_t mapping;
	int r = profile_add_type(p, "samples", "count");

	if (r == 0)
		r = profile_add_type(p, "cpu", "nanoseconds");
	if (r == 0)
		r = profile_add_type(p, "allocations", "bytes");
	if (r == 0)
		r = profile_string(p, "/bin/app", &m.path);
	if (r == 0)
		r = profile_mapping(p, &m, &mapping);
	for (uint64_t i = 0; i < 100 && r == 0; i++) /* enough for every table to grow */
		r = add_one(p, mapping, i);
	return r < 0 ? r : profile_add_comment(p, "tag=1");
}

static int write_to_null(const struct writer *writer, const struct profile *p)
{
	_cleanup_(outfile_freep) struct outfile *out = NULL;
	struct pa_error err = { 0 };
	int r = outfile_open("/dev/null", NULL, &out, &err);

	if (r == 0)
		r = writer->write(p, out, NULL, &err);
	if (r == 0)
		r = outfile_commit(out, &err);
	return r == -err.code ? r : -EPROTO; /* an error without a sentence */
}

static int write_beside(const char *path, bool unique)
{
	const struct outfile_options opts = { .unique = unique };
	_cleanup_(outfile_freep) struct outfile *out = NULL;
	int r = outfile_open(path, &opts, &out, NULL);

	return r < 0 ? r : outfile_commit(out, NULL);
}

static int digest(const struct profile *p)
{
	_cleanup_(functions_done) struct functions f = { 0 };
	_cleanup_(freep) struct top_function *top = NULL;
	_cleanup_(freep) struct hot_path *paths = NULL;
	_cleanup_(freep) struct process_share *processes = NULL;
	_cleanup_(freep) struct command_share *commands = NULL;
	uint32_t nr;
	int r = functions_init(&f, p, 0);

	if (r == 0)
		r = digest_top(&f, &top, &nr);
	if (r == 0)
		r = digest_hot_paths(&f, &paths, &nr);
	if (r == 0)
		r = digest_processes(p, &processes, &nr);
	return r < 0 ? r : digest_commands(p, processes, nr, &commands, &nr);
}

static int everything(const char *path)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	int r = profile_new(&p);

	if (r == 0)
		r = fill(p);
	if (r == 0)
		r = digest(p);
	if (r == 0)
		r = write_to_null(&writer_pprof, p);
	if (r == 0)
		r = write_to_null(&writer_folded, p);
	if (r == 0)
		r = write_to_null(&writer_flame_page, p);
	if (r == 0)
		r = write_beside(path, false);
	return r < 0 ? r : write_beside(path, true);
}

static void test_each_allocation(void)
{
	char dir[] = "/tmp/nomem.XXXXXX", path[64], other[64];
	long nr_failed = 0, nr_wrong = 0, nr_leaks = 0, live = 0;
	int r = -ENOMEM;

	must(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/out.pb.gz", dir);
	snprintf(other, sizeof(other), "%s/out-1.pb.gz", dir);
	for (unsigned long n = 1; n < MAX_ALLOCATIONS; n++) {
		live = nr_live;
		nr_allocations = 0;
		fail_at = n;
		r = everything(path);
		fail_at = 0;
		nr_leaks += nr_live != live;
		(void)unlink(path); /* only there when that step was reached */
		(void)unlink(other);
		if (nr_allocations < n)
			break;
		nr_failed++;
		if (r == 0) /* qsort_r() does without its memory */
			continue;
		nr_wrong += r != -ENOMEM;
	}
	must(rmdir(dir) == 0);
	ok(r == 0 && nr_failed > 50, "%ld allocations were failed one by one", nr_failed);
	ok(nr_wrong == 0, "every failed allocation is reported as -ENOMEM");
	ok(nr_leaks == 0, "failed allocations leave nothing behind");
}

int main(void)
{
	test_each_allocation();
	return tap_done();
}
