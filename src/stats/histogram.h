/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of times as the kernel side fills them (bpf/buckets.h): added up, and described by a few
 * numbers. Each number is within 3 % of the true one, or a nanosecond; sum and count are exact. */
#ifndef STATS_HISTOGRAM_H
#define STATS_HISTOGRAM_H

#include <stdint.h>

#include "bpf/buckets.h"

struct distribution {
	uint64_t count; /* 0: the rest is 0 as well */
	uint64_t sum_ns;
	uint64_t min_ns, max_ns, mean_ns;
	uint64_t p50_ns, p95_ns, p99_ns, p999_ns; /* percentiles, by nearest rank */
};

/* As if all values of `from` had been counted in `to`. */
void histogram_merge(struct pa_histogram *to, const struct pa_histogram *from);

/* The smallest and the largest value of a bucket; the last one has no end, and is said to have one. */
uint64_t histogram_bucket_min(uint32_t bucket);
uint64_t histogram_bucket_max(uint32_t bucket);

/* The value that stands for all of a bucket: equally far, in proportion, from its smallest and largest. */
uint64_t histogram_bucket_value(uint32_t bucket);

void histogram_describe(const struct pa_histogram *h, struct distribution *ret_distribution);

#endif
