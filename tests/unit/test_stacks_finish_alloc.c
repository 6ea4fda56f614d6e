/* SPDX-License-Identifier: Apache-2.0 */
/* A walk of this process's own stack that is finished, over and over, each time with another
 * allocation failing: the sample is accounted for, and nothing is left allocated. */
#include "failing_alloc.h"

#include "self_walk.h"
#include "tap.h"

#define EVERY_UP_TO 400
#define SAMPLED_RUNS 100

__attribute__((noinline)) static int finish_one(struct capture *c)
{
	must(self_walk(c, PA_STOP_NO_TABLE));
	return capture_settle(c, true);
}

static int run(unsigned long n, struct capture_stats *ret_stats)
{
	struct world_config cfg = { .proc_root = "/proc",
				    .kallsyms_path = "/dev/null",
				    .all = true,
				    .max_fds = 64,
				    .compile_inline = true,
				    .table_bytes = SIZE_MAX };
	struct capture *c = NULL;
	int r;

	nr_allocations = 0;
	nr_live = 0;
	fail_at = n;
	r = capture_new(&cfg, NULL, &c);
	if (r == 0)
		r = capture_use_tables(c, NULL);
	if (r == 0)
		r = capture_scan(c, getpid());
	if (r == 0)
		r = finish_one(c);
	if (c)
		*ret_stats = capture_all_stats(c);
	capture_free(c);
	return r;
}

static bool fails_cleanly(unsigned long n)
{
	struct capture_stats st = { 0 };
	int r = run(n, &st);
	bool is_accounted = r < 0 || capture_adds_up(&st);

	if (nr_live || !is_accounted)
		printf("# allocation %lu: %ld blocks are left, %d\n", n, nr_live, is_accounted);
	return nr_live == 0 && is_accounted;
}

int main(void)
{
	struct capture_stats st = { 0 };
	unsigned long total, step, runs = 0;
	bool clean = true;
	unsigned long every = failing_alloc_step();

#ifndef SELF_WALK_IS_POSSIBLE
	tap_skip("only x86-64 registers are known here");
	return tap_done();
#endif
	ok(run(0, &st) == 0 && st.model.stops[PA_STOP_END] == 1,
	   "the walk is complete without failing allocations");
	total = nr_allocations;
	step = total > EVERY_UP_TO ? (total - EVERY_UP_TO) / SAMPLED_RUNS * every + 1 : 1;
	for (unsigned long n = 1; n <= total; n += n < EVERY_UP_TO ? every : step, runs++)
		clean = fails_cleanly(n) && clean;
	ok(clean, "%lu of %lu allocations failed, each counted or reported, without a leak", runs,
	   total);
	return tap_done();
}
