/* SPDX-License-Identifier: Apache-2.0 */
#include "names/naming_stats.h"

#include "tap.h"

static struct naming_stats s;

static bool latency_is(uint64_t p50, uint64_t p99, uint64_t max)
{
	struct naming_latency l = naming_stats_latency(&s);

	if (l.p50_ns != p50 || l.p99_ns != p99 || l.max_ns != max)
		printf("# p50 %lu, p99 %lu, max %lu\n", l.p50_ns, l.p99_ns, l.max_ns);
	return l.p50_ns == p50 && l.p99_ns == p99 && l.max_ns == max;
}

static void test_latency(void)
{
	ok(latency_is(0, 0, 0), "no batch has no latency");
	naming_stats_add_batch(&s, 7, false);
	ok(latency_is(7, 7, 7), "one batch is every percentile");
	naming_stats_add_batch(&s, 5, false);
	ok(latency_is(5, 7, 7), "of two batches the smaller is the median");
	s = (struct naming_stats){ 0 };
	for (uint64_t i = 0; i < 100; i++)
		naming_stats_add_batch(&s, 100 - i, false);
	ok(latency_is(50, 99, 100), "of 1 to 100: 50, 99 and 100");
}

static void test_window(void)
{
	s = (struct naming_stats){ 0 };
	naming_stats_add_batch(&s, 1000000, false);
	for (uint64_t i = 0; i < NAMING_LAST_BATCHES - 1; i++)
		naming_stats_add_batch(&s, 1, false);
	ok(latency_is(1, 1, 1000000), "the first of 1,024 batches still counts");
	naming_stats_add_batch(&s, 2, true);
	ok(latency_is(1, 1, 2), "the next batch replaces the first");
	ok(s.nr_batches == NAMING_LAST_BATCHES + 1 && s.nr_fallbacks == 1,
	   "all batches are counted");
}

static void test_kernel(void)
{
	const struct naming_kernel_counts batch = {
		.nr_batches = 1, .nr_addresses = 5, .nr_raw = 2, .nr_denied = 1, .nr_fallbacks = 1
	};
	static struct naming_stats sum;
	struct naming_latency l;

	s = (struct naming_stats){ 0 };
	naming_stats_add_batch(&s, 1, false);
	naming_stats_add_batch(&s, 9, true);
	naming_stats_add_kernel(&s, &batch, 9);
	ok(latency_is(1, 9, 9), "kernel: its batches are among all batches");
	l = naming_stats_kernel_latency(&s);
	ok(l.p50_ns == 9 && l.max_ns == 9, "kernel: its batches have times of their own");
	naming_stats_add(&sum, &s);
	naming_stats_add(&sum, &s);
	l = naming_stats_kernel_latency(&sum);
	ok(sum.kernel.nr_batches == 2 && sum.kernel.nr_addresses == 10 && sum.kernel.nr_raw == 4 &&
		   sum.kernel.nr_denied == 2 && sum.kernel.nr_fallbacks == 2 && l.p50_ns == 9,
	   "kernel: counts of two profiles add up");
}

static void test_addresses(void)
{
	uint64_t sum = 0;

	s = (struct naming_stats){ 0 };
	naming_stats_add_named(&s, NAMING_FROM_VDSO);
	naming_stats_add_unnamed(&s, NAMING_NO_SYMBOL, false);
	naming_stats_add_unnamed(&s, NAMING_NO_JIT_MAP, true);
	for (unsigned int i = 0; i < NAMING_NR_FAILURES; i++)
		sum += s.failures[i];
	ok(s.nr_addresses == 3 && sum == 2 && s.nr_raw == 1, "every address has one outcome");
	naming_stats_found(&s, NAMING_NO_JIT_MAP, true);
	ok(s.named[NAMING_FROM_VDSO] == 1 && s.named[NAMING_FROM_GENERATED] == 1,
	   "every name has a source, also one that is found later");
	naming_stats_add_unnamed(&s, NAMING_NO_JIT_MAP, true);
	ok(s.failures[NAMING_NO_SYMBOL] == 1 && s.failures[NAMING_NO_JIT_MAP] == 1,
	   "every failure has a reason");
}

int main(void)
{
	test_latency();
	test_window();
	test_kernel();
	test_addresses();
	return tap_done();
}
