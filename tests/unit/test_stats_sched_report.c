/* SPDX-License-Identifier: Apache-2.0 */
/* From what the kernel counted to what is shown: scaling, counters that are missing, order. */
#include "stats/sched_report.h"

#include "tap.h"

static void test_scaling(void)
{
	const struct pa_counter_sum whole = { 1000, 500, 500 }, half = { 1000, 500, 250 };
	const struct pa_counter_sum third = { 1, 3, 1 }, never = { 0, 500, 0 }, idle = { 0, 0, 0 };
	const struct pa_counter_sum large = { 1ull << 62, 3ull << 60, 2ull << 60 };

	ok(sched_counter_scaled(&whole) == 1000, "a counter that always ran is not scaled");
	ok(sched_counter_scaled(&half) == 2000, "a counter that ran half of the time is doubled");
	ok(sched_counter_scaled(&third) == 3, "a counter that ran a third of the time is tripled");
	ok(sched_counter_scaled(&never) == PA_UNKNOWN,
	   "what was never counted is unknown, and not 0");
	ok(sched_counter_scaled(&idle) == 0, "where nothing ran, 0 was counted");
	ok(sched_counter_scaled(&large) == 3ull << 61, "scaling does not overflow");
}

static void test_block(void)
{
	struct pa_sched_stats st = { .reasons = { 5, 4, 3, 2, 1 }, .comm = "0123456789abcdef" };
	struct sched_block b;

	for (int i = 0; i < PA_NR_COUNTERS; i++)
		st.counters[i] = (struct pa_counter_sum){ 10, 20, 10 };
	sched_block_fill(&b, 7, &st, 1u << PA_COUNTER_CYCLES | 1u << PA_COUNTER_CACHE_MISSES);
	ok(b.nr_switches == 15 && b.pid == 7, "switches are the sum of their reasons");
	ok(b.counters[PA_COUNTER_CYCLES] == 20 && b.counters[PA_COUNTER_CACHE_MISSES] == 20 &&
		   b.counters[PA_COUNTER_INSTRUCTIONS] == PA_UNKNOWN,
	   "a counter that is missing does not hide the others");
	ok(!strcmp(b.comm, "0123456789abcde"), "a name always has an end");
	ok(!b.on_cpu.count && !b.run_queue.count, "without values there is no distribution");
}

static void test_merge(void)
{
	struct pa_sched_stats a = { .reasons = { 1 }, .open_ns = 5, .comm = "first" };
	struct pa_sched_stats b = { .reasons = { 2, 3 }, .open_ns = 6, .comm = "second" };

	a.counters[0] = (struct pa_counter_sum){ 1, 2, 3 };
	b.counters[0] = (struct pa_counter_sum){ 10, 20, 30 };
	a.on_cpu.counts[4] = b.on_cpu.counts[4] = 1;
	b.run_queue.counts[9] = 2;
	sched_stats_merge(&a, &b);
	ok(a.reasons[0] == 3 && a.reasons[1] == 3 && a.open_ns == 11 && a.on_cpu.counts[4] == 2 &&
		   a.run_queue.counts[9] == 2 && a.counters[0].value == 11 &&
		   a.counters[0].enabled_ns == 22 && a.counters[0].running_ns == 33,
	   "every count of two processes is added");
	ok(!strcmp(a.comm, "first"), "a sum keeps its name");
}

static void test_order(void)
{
	const struct sched_block blocks[] = {
		{ .pid = 1, .run_queue.sum_ns = 5 },
		{ .pid = 9, .run_queue.sum_ns = 7 },
		{ .pid = 3, .run_queue.sum_ns = 7 },
	};
	struct sched_report r = { 0 };
	int e = 0;

	sched_report_trim(&r);
	for (int i = 0; i < 3 && e == 0; i++)
		e = sched_report_add(&r, &blocks[i]);
	sched_report_trim(&r);
	ok(e == 0 && r.nr_processes == 3 && r.processes[0].pid == 3 && r.processes[1].pid == 9 &&
		   r.processes[2].pid == 1 && !r.nr_unlisted,
	   "the longest total wait comes first, then the lowest PID");
	sched_report_done(&r);
}

/* A machine that starts processes all the time: waits grow and fall, so that every add may be the longest. */
static void test_bound(void)
{
	const uint32_t nr = 5 * PA_MAX_SCHED_PROCESSES + 1;
	struct sched_report r = { 0 };
	uint64_t listed = 0;
	int e = 0;
	bool is_longest = true;

	for (uint32_t i = 0; i < nr && e == 0; i++) {
		struct sched_block b = { .pid = (pid_t)i + 1,
					 .run_queue.sum_ns = (uint64_t)i * 7919 % nr,
					 .nr_switches = 3 };

		e = sched_report_add(&r, &b);
		if (r.nr_processes > 2 * PA_MAX_SCHED_PROCESSES)
			e = -1;
	}
	sched_report_trim(&r);
	for (uint32_t i = 0; i < r.nr_processes; i++) {
		is_longest = is_longest && r.processes[i].run_queue.sum_ns == nr - 1 - i;
		listed += r.processes[i].nr_switches;
	}
	ok(e == 0 && r.nr_processes == PA_MAX_SCHED_PROCESSES && is_longest,
	   "of more processes than the list has room for, those with the longest waits are listed");
	ok(listed + r.nr_unlisted == 3ull * nr, "context switches of the others are counted");
	sched_report_done(&r);
}

int main(void)
{
	test_scaling();
	test_block();
	test_merge();
	test_order();
	test_bound();
	return tap_done();
}
