/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of times as the kernel side fills them (bpf/buckets.h): added up, and described by a few
 * numbers. Each number is within 3 % of the true one, or a nanosecond; sum and count are exact. */
#ifndef STATS_HISTOGRAM_H
#define STATS_HISTOGRAM_H

#include <stdint.h>

#include "bpf/buckets.h"

struct distribution {
	uint64_t count; /* if 0, all other members are 0 as well */
	uint64_t sum_ns;
	uint64_t min_ns, max_ns, mean_ns;
	uint64_t p50_ns, p95_ns, p99_ns, p999_ns; /* percentiles, by nearest rank */
};

/* Adds the values of `from` to `to`. */
void histogram_merge(struct pa_histogram *to, const struct pa_histogram *from);

/* The smallest and the largest value of a bucket; that of the last one is an approximation, since
 * it has no upper end. */
uint64_t histogram_bucket_min(uint32_t bucket);
uint64_t histogram_bucket_max(uint32_t bucket);

/* The value that represents a bucket: at the same ratio from its smallest and its largest value. */
uint64_t histogram_bucket_value(uint32_t bucket);

void histogram_describe(const struct pa_histogram *h, struct distribution *ret_distribution);

#endif
