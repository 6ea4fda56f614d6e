/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/histogram.h"

void histogram_merge(struct pa_histogram *to, const struct pa_histogram *from)
{
	to->sum_ns += from->sum_ns;
	for (uint32_t i = 0; i < PA_HIST_BUCKETS; i++)
		to->counts[i] += from->counts[i];
}

uint64_t histogram_bucket_min(uint32_t bucket)
{
	uint32_t octave = bucket / PA_HIST_PARTS;
	uint64_t part = bucket % PA_HIST_PARTS;

	return (1ull << octave) + ((part << octave) + PA_HIST_PARTS - 1) / PA_HIST_PARTS;
}

uint64_t histogram_bucket_max(uint32_t bucket)
{
	return histogram_bucket_min(bucket + 1) - 1;
}

uint64_t histogram_bucket_value(uint32_t bucket)
{
	double min = (double)histogram_bucket_min(bucket);
	double max = (double)histogram_bucket_max(bucket);

	return (uint64_t)(2 * min * max / (min + max) + 0.5);
}

/* The value with that rank, from 1 on. */
static uint64_t value_of_rank(const struct pa_histogram *h, uint64_t rank)
{
	uint64_t nr = 0;
	uint32_t i = 0;

	while (i < PA_HIST_BUCKETS - 1 && nr + h->counts[i] < rank)
		nr += h->counts[i++];
	return histogram_bucket_value(i);
}

/* The smallest value that is not below so many of a thousand values. */
static uint64_t percentile_of(const struct pa_histogram *h, uint64_t count, uint64_t per_mille)
{
	uint64_t rank = count / 1000 * per_mille + (count % 1000 * per_mille + 999) / 1000;

	return value_of_rank(h, rank);
}

void histogram_describe(const struct pa_histogram *h, struct distribution *ret_distribution)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < PA_HIST_BUCKETS; i++)
		count += h->counts[i];
	*ret_distribution = (struct distribution){ .count = count, .sum_ns = h->sum_ns };
	if (!count)
		return;
	ret_distribution->mean_ns = h->sum_ns / count;
	ret_distribution->min_ns = value_of_rank(h, 1);
	ret_distribution->max_ns = value_of_rank(h, count);
	ret_distribution->p50_ns = percentile_of(h, count, 500);
	ret_distribution->p95_ns = percentile_of(h, count, 950);
	ret_distribution->p99_ns = percentile_of(h, count, 990);
	ret_distribution->p999_ns = percentile_of(h, count, 999);
}
