/* SPDX-License-Identifier: Apache-2.0 */
/* Code that is replaced in its place while it is profiled: each sample has the name of its own time. */
#include "failing_alloc.h"
#include "fake_proc.h"
#include "jit_maker.h"
#include "replay.h"

#define CODE 0x10000000ull
#define HOT (CODE + 0x10)    /* is replaced */
#define CALLER (CODE + 0x80) /* is not */
#define DUMP_START 0x20000000ull

static char directory[] = "/tmp/perf-agent-moments.XXXXXX";
static char dump_path[64];

/* Records from before the capture, or later, at the end of the file. */
static void write_dump(const struct dump_maker *d, bool is_more)
{
	int fd = open(dump_path, O_WRONLY | O_CREAT | O_CLOEXEC | (is_more ? O_APPEND : O_TRUNC),
		      0600);

	must(fd >= 0 && write(fd, d->bytes, d->len) == (ssize_t)d->len);
	close(fd);
}

static void write_first_dump(struct dump_maker *d)
{
	dump_init(d, 0);
	dump_load(d, 100, CODE, 0x40, 1, "one");
	dump_load(d, 100, CODE + 0x40, 0x100, 2, "caller");
	write_dump(d, false);
}

/* Code in place of other code; also half of it in place of half of it. */
static void write_second_dump(struct dump_maker *d)
{
	d->len = 0;
	dump_load(d, 200, CODE, 0x40, 3, "two");
	dump_move(d, 300, 0x5000, CODE + 8, 0x10, 1);
	write_dump(d, true);
}

static int map_dump(struct capture *c, uint64_t time_ns)
{
	struct replay_map m = { .start = DUMP_START, .end = DUMP_START + 0x1000 };
	struct stat st;

	must(stat(dump_path, &st) == 0);
	m.major = major(st.st_dev);
	m.minor = minor(st.st_dev);
	m.inode = st.st_ino;
	snprintf(m.path, sizeof(m.path), "%s", dump_path);
	return replay_mmap(c, time_ns, REPLAY_PARENT, &m);
}

static int new_capture(bool has_dump, struct capture **ret_capture)
{
	struct world_config cfg = { .proc_root = "/proc",
				    .kallsyms_path = "/dev/null",
				    .all = true,
				    .naming_workers = 1,
				    .max_fds = 64 };
	struct replay_map anon = { .start = CODE, .end = CODE + 0x10000, .path = "//anon" };
	int r = capture_new(&cfg, NULL, ret_capture);

	if (r == 0)
		r = replay_task(*ret_capture, EVENT_EXEC, 10, REPLAY_PARENT, 0);
	if (r == 0)
		r = replay_mmap(*ret_capture, 20, REPLAY_PARENT, &anon);
	return r < 0 || !has_dump ? r : map_dump(*ret_capture, 30);
}

static int sample_at(struct capture *c, uint64_t time_ns)
{
	uint64_t pcs[] = { HOT | PA_PC_EXACT, CALLER + 1 };

	return replay_sample(c, time_ns, REPLAY_PARENT, pcs, 0, pcs, 2, 0, PA_STOP_FP_END);
}

static int sample_times(struct capture *c, const uint64_t *times_ns, size_t nr)
{
	int r = 0;

	for (size_t i = 0; i < nr && r == 0; i++)
		r = sample_at(c, times_ns[i]);
	return r < 0 ? r : capture_settle(c, false);
}

static const char *name_of(const struct profile *p, uint32_t location)
{
	const struct profile_location *l = &p->locations[location];

	return l->nr_lines ? profile_str(p, p->functions[p->lines[l->first_line].function].name)
			   : "";
}

/* Samples whose frame `depth` has this name; NULL: all. */
static int64_t count(const struct profile *p, uint32_t depth, const char *name)
{
	int64_t nr = 0;

	for (uint32_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		const char *is = name_of(p, p->frames[p->stacks[s->stack].first + depth]);

		if (!name || strcmp(is, name) == 0)
			nr += profile_count(p, i);
		must(profile_value(p, i, 1) == profile_count(p, i) * 1000000);
	}
	return nr;
}

static const uint64_t early[] = { 110, 150, 199 }, late[] = { 250, 201, 300, 301, 320, 999 };

/* The redefinitions are written after all samples were resolved. */
static int dump_late(struct dump_maker *d, struct capture **ret_capture)
{
	int r;

	write_first_dump(d);
	r = new_capture(true, ret_capture);
	if (r == 0)
		r = sample_times(*ret_capture, early, 3);
	if (r == 0)
		r = sample_times(*ret_capture, late, 6);
	write_second_dump(d);
	return r < 0 ? r : capture_name(*ret_capture, NULL);
}

static void test_late_dump(struct dump_maker *d)
{
	_cleanup_(capture_freep) struct capture *c = NULL;
	const struct profile *p;

	must(dump_late(d, &c) == 0);
	p = c->model->profile;
	ok(count(p, 0, "two") == 2, "replaced code: %ld of 2 samples have the later name",
	   (long)count(p, 0, "two"));
	ok(count(p, 0, "one") == 3 + 4,
	   "replaced code: %ld of 7 samples have the first name, which was moved back",
	   (long)count(p, 0, "one"));
	ok(count(p, 1, "caller") == 9 && count(p, 0, NULL) == 9 && c->model->stats.nr_kept == 9,
	   "replaced code: the callers are one location, and no sample is lost");
	ok(p->nr_locations == 4, "replaced code: %u locations, three of them at one address",
	   p->nr_locations);
	ok(c->model->stats.nr_untimed == 0 && c->model->naming.jit_counts.nr_dump_records == 4,
	   "replaced code: every sample has its time, and the dump is counted once");
}

/* Everything is written before the first sample, and the first sample comes after a sample of later code. */
static void test_early_dump(struct dump_maker *d)
{
	static const uint64_t times[] = { 250, 110, 251, 150 };
	_cleanup_(capture_freep) struct capture *c = NULL;

	write_first_dump(d);
	write_second_dump(d);
	must(new_capture(true, &c) == 0 && sample_times(c, times, 4) == 0);
	must(capture_name(c, NULL) == 0);
	ok(count(c->model->profile, 0, "one") == 2 && count(c->model->profile, 0, "two") == 2,
	   "replaced code: the order of samples does not matter");
}

/* Samples from before the dump was there are in the model at once. */
static void test_dump_appears(struct dump_maker *d)
{
	_cleanup_(capture_freep) struct capture *c = NULL;

	write_first_dump(d);
	must(new_capture(false, &c) == 0 && sample_times(c, early, 2) == 0);
	ok(count(c->model->profile, 0, NULL) == 2, "without a dump no sample is deferred");
	must(map_dump(c, 180) == 0 && sample_times(c, late, 2) == 0);
	ok(count(c->model->profile, 0, NULL) == 2, "with a dump samples are deferred");
	write_second_dump(d);
	must(capture_name(c, NULL) == 0);
	ok(count(c->model->profile, 0, "one") == 2 && count(c->model->profile, 0, "two") == 2,
	   "a dump may appear during the capture");
}

static void test_garbage(struct dump_maker *d)
{
	_cleanup_(capture_freep) struct capture *c = NULL;

	dump_init(d, 0);
	d->bytes[0] = 0;
	write_dump(d, false);
	must(new_capture(true, &c) == 0 && sample_times(c, early, 3) == 0);
	must(capture_name(c, NULL) == 0);
	ok(count(c->model->profile, 0, "0x10000010") == 3 && c->model->stats.nr_untimed == 0,
	   "an invalid dump costs only its own symbols");
}

/* The samples that were taken after an exec are another program's. */
static void test_exec(struct dump_maker *d)
{
	_cleanup_(capture_freep) struct capture *c = NULL;
	struct replay_map anon = { .start = CODE, .end = CODE + 0x10000, .path = "//anon" };

	write_first_dump(d);
	write_second_dump(d);
	must(new_capture(true, &c) == 0 && sample_times(c, early, 2) == 0);
	must(replay_task(c, EVENT_EXEC, 210, REPLAY_PARENT, 0) == 0 &&
	     replay_mmap(c, 220, REPLAY_PARENT, &anon) == 0);
	must(sample_times(c, late, 1) == 0);
	ok(count(c->model->profile, 0, NULL) == 1,
	   "the dump of a program does not apply to the next program");
	must(capture_name(c, NULL) == 0);
	ok(count(c->model->profile, 0, "one") == 2 &&
		   count(c->model->profile, 0, "0x10000010") == 1,
	   "the names of a program do not apply to the next program");
}

/* Taken out as the session does it, with samples whose place in the profile is decided later. */
static void test_taken_model(struct dump_maker *d)
{
	_cleanup_(capture_freep) struct capture *c = NULL;
	struct model_account account = { 0 };
	const struct model_stats *st = &account.stats;
	unsigned long before;

	write_first_dump(d);
	must(new_capture(true, &c) == 0 && sample_times(c, early, 3) == 0);
	model_leave(c->model, &account);
	ok(st->nr_kept == 3 && account.naming.nr_addresses == 0,
	   "samples of a model that was taken out are in the account at once");
	write_second_dump(d);
	before = nr_allocations;
	fail_at = before + 1; /* the times by which samples are placed */
	must(capture_name(c, NULL) == 0);
	fail_at = 0;
	ok(st->nr_untimed == 3 && st->nr_untimed == c->model->stats.nr_untimed &&
		   st->nr_kept == c->model->stats.nr_kept &&
		   st->nr_no_memory == c->model->stats.nr_no_memory,
	   "what naming changes of its counts changes the account");
	ok(account.naming.nr_addresses == c->model->profile->nr_locations &&
		   account.naming.nr_batches == 1 && account.jit.nr_dump_records > 0,
	   "what naming did for it is in the account");
}

static void test_no_dump_no_cost(void)
{
	_cleanup_(capture_freep) struct capture *c = NULL;
	unsigned long before;

	must(new_capture(false, &c) == 0 && sample_times(c, early, 3) == 0);
	before = nr_allocations;
	for (uint64_t i = 0; i < 1000; i++)
		must(sample_times(c, (uint64_t[]){ 400 + i }, 1) == 0);
	ok(nr_allocations == before, "without a dump 1,000 samples cost %lu allocations",
	   nr_allocations - before);
}

static void test_failing_allocations(struct dump_maker *d)
{
	unsigned long nr = 0, nr_wrong = 0;

	do {
		struct capture *c = NULL;

		nr_allocations = 0;
		nr_live = 0;
		fail_at = ++nr;
		/* Without memory, samples may be lost or in the name's first sense: and counted. */
		if (dump_late(d, &c) == 0) {
			struct capture_stats st = capture_all_stats(c);

			nr_wrong += (uint64_t)count(c->model->profile, 0, NULL) !=
					    st.model.nr_kept ||
				    st.pipe.nr_records != 9 || !capture_adds_up(&st);
		}
		capture_free(c);
		nr_wrong += nr_live != 0;
	} while (nr_allocations >= nr);
	fail_at = 0;
	ok(nr_wrong == 0, "each of %lu allocations may fail; %lu failures were fatal", nr,
	   nr_wrong);
}

int main(void)
{
	struct dump_maker *d;

	if (!fake_can_look_into_roots())
		return tap_done();
	d = malloc(sizeof(*d));
	must(d && mkdtemp(directory));
	snprintf(dump_path, sizeof(dump_path), "%s/jit-77.dump", directory);
	test_late_dump(d);
	test_early_dump(d);
	test_dump_appears(d);
	test_garbage(d);
	test_exec(d);
	test_taken_model(d);
	test_no_dump_no_cost();
	test_failing_allocations(d);
	unlink(dump_path);
	rmdir(directory);
	free(d);
	return tap_done();
}
