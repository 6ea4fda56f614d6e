/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets of both sides, and what is computed from them, against the values themselves. */
#include "stats/histogram.h"

#include <stdlib.h>

#include "tap.h"

#define MAX_ERROR 0.03
#define NR_VALUES 20000

static void count(struct pa_histogram *h, uint64_t ns)
{
	h->sum_ns += ns;
	h->counts[pa_hist_bucket(ns)]++;
}

static bool is_close(uint64_t shown, uint64_t truth)
{
	double off = (double)shown - (double)truth;

	return (off < 0 ? -off : off) <= MAX_ERROR * (double)truth + 1e-9 ||
	       (shown <= truth + 1 && truth <= shown + 1);
}

/* Every value up to a million, and both ends of every bucket and the value below it, from where an octave has
 * more values than buckets. */
static void test_buckets(void)
{
	uint32_t bad_place = 0, bad_value = 0, last = 0, backwards = 0;

	for (uint64_t v = 1; v <= 1000000; v++) {
		uint32_t i = pa_hist_bucket(v);

		bad_place += v < histogram_bucket_min(i) || v > histogram_bucket_max(i);
		bad_value += !is_close(histogram_bucket_value(i), v);
		backwards += i < last;
		last = i;
	}
	ok(!bad_place && !backwards, "each of the first million values is inside its bucket");
	ok(!bad_value, "the value of its bucket is within 3 %% of each of them");
	bad_place = bad_value = 0;
	for (uint32_t i = 5 * PA_HIST_PARTS + 1; i < PA_HIST_BUCKETS; i++) {
		uint64_t min = histogram_bucket_min(i), max = histogram_bucket_max(i);

		bad_place += pa_hist_bucket(min) != i || pa_hist_bucket(max) != i ||
			     pa_hist_bucket(min - 1) != i - 1;
		bad_value += !is_close(histogram_bucket_value(i), min) ||
			     !is_close(histogram_bucket_value(i), max);
	}
	ok(!bad_place, "buckets lie side by side, up to the last");
	ok(!bad_value, "the value of a bucket is within 3 %% of its smallest and its largest");
	ok(pa_hist_bucket(0) == pa_hist_bucket(1), "a time of 0 is counted as the shortest");
	ok(pa_hist_bucket(1ull << PA_HIST_OCTAVES) == PA_HIST_BUCKETS - 1 &&
		   pa_hist_bucket(UINT64_MAX) == PA_HIST_BUCKETS - 1,
	   "times beyond the last bucket are counted in it");
	for (uint32_t bit = 0; bit < 64; bit++)
		bad_place += pa_highest_bit(1ull << bit) != bit ||
			     pa_highest_bit(UINT64_MAX >> (63 - bit)) != bit;
	ok(!bad_place, "the highest bit of a number is found, at all 64 places");
}

/* Numbers over many octaves: the sequence is always the same. */
static uint64_t next_value(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (*state >> 33) >> (*state >> 20 & 31) | 1;
}

static int compare_values(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The smallest of the sorted values that at least per_mille of a thousand are not above. */
static uint64_t true_percentile(const uint64_t *sorted, size_t nr, size_t per_mille)
{
	size_t below = 0;

	while ((below + 1) * 1000 < per_mille * nr)
		below++;
	return sorted[below];
}

static void check_numbers(const char *what, const uint64_t *sorted, size_t nr,
			  const struct distribution *d)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += sorted[i];
	ok(d->count == nr && d->sum_ns == sum && d->mean_ns == sum / nr,
	   "%s: count, sum and mean are exact", what);
	ok(is_close(d->min_ns, sorted[0]) && is_close(d->max_ns, sorted[nr - 1]),
	   "%s: smallest and largest are within 3 %%", what);
	ok(is_close(d->p50_ns, true_percentile(sorted, nr, 500)) &&
		   is_close(d->p95_ns, true_percentile(sorted, nr, 950)) &&
		   is_close(d->p99_ns, true_percentile(sorted, nr, 990)) &&
		   is_close(d->p999_ns, true_percentile(sorted, nr, 999)),
	   "%s: percentiles are those of the sorted values, within 3 %%", what);
}

static void test_distribution(size_t nr, const char *what)
{
	static uint64_t values[NR_VALUES];
	struct pa_histogram h = { 0 };
	struct distribution d;
	uint64_t state = nr;

	for (size_t i = 0; i < nr; i++) {
		values[i] = next_value(&state);
		count(&h, values[i]);
	}
	qsort(values, nr, sizeof(values[0]), compare_values);
	histogram_describe(&h, &d);
	check_numbers(what, values, nr, &d);
}

/* 9,000 short ones and 1,000 long ones: neither's percentiles are those of both, nor is their mean. */
static void test_merge(void)
{
	struct pa_histogram shorts = { 0 }, longs = { 0 }, both = { 0 };
	struct distribution d;
	uint32_t different = 0;

	for (uint64_t i = 0; i < 10000; i++) {
		uint64_t v = i < 9000 ? 2000 + i : 5000000 + i * 100;

		count(i < 9000 ? &shorts : &longs, v);
		count(&both, v);
	}
	histogram_merge(&shorts, &longs);
	for (uint32_t i = 0; i < PA_HIST_BUCKETS; i++)
		different += shorts.counts[i] != both.counts[i];
	ok(!different && shorts.sum_ns == both.sum_ns,
	   "two histograms added are the histogram of all values");
	histogram_describe(&shorts, &d);
	ok(is_close(d.p50_ns, 2000 + 4999) && is_close(d.p95_ns, 5000000 + 9499 * 100),
	   "percentiles of the sum are those of all values: %llu and %llu",
	   (unsigned long long)d.p50_ns, (unsigned long long)d.p95_ns);
}

static void test_empty(void)
{
	struct pa_histogram h = { 0 };
	struct distribution d = { .p50_ns = 7 };

	histogram_describe(&h, &d);
	ok(!d.count && !d.p50_ns && !d.max_ns, "an empty histogram has no numbers");
}

int main(void)
{
	test_buckets();
	test_distribution(1, "one value");
	test_distribution(2, "two values");
	test_distribution(999, "999 values");
	test_distribution(1001, "1,001 values");
	test_distribution(NR_VALUES, "20,000 values");
	test_merge();
	test_empty();
	return tap_done();
}
