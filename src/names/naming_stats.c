/* SPDX-License-Identifier: Apache-2.0 */
#include "names/naming_stats.h"

#include <stdlib.h>
#include <string.h>

void naming_stats_add_batch(struct naming_stats *s, uint64_t took_ns, bool is_fallback)
{
	s->batch_ns[s->nr_batches++ % NAMING_LAST_BATCHES] = took_ns;
	s->nr_fallbacks += is_fallback;
}

void naming_stats_add_named(struct naming_stats *s)
{
	s->nr_addresses++;
}

void naming_stats_add_unnamed(struct naming_stats *s, enum naming_failure why, bool is_raw)
{
	s->nr_addresses++;
	s->nr_raw += is_raw;
	s->failures[why]++;
}

void naming_stats_found(struct naming_stats *s, enum naming_failure was, bool was_raw)
{
	s->nr_raw -= was_raw;
	s->failures[was]--;
}

void naming_stats_add(struct naming_stats *to, const struct naming_stats *more)
{
	uint64_t first =
		more->nr_batches > NAMING_LAST_BATCHES ? more->nr_batches - NAMING_LAST_BATCHES : 0;

	to->nr_batches += first; /* the rest fills the whole ring */
	for (uint64_t i = first; i < more->nr_batches; i++)
		naming_stats_add_batch(to, more->batch_ns[i % NAMING_LAST_BATCHES], false);
	to->nr_addresses += more->nr_addresses;
	to->nr_shared += more->nr_shared;
	to->nr_raw += more->nr_raw;
	to->nr_fallbacks += more->nr_fallbacks;
	to->nr_lines_interrupted += more->nr_lines_interrupted;
	for (unsigned int i = 0; i < NAMING_NR_FAILURES; i++)
		to->failures[i] += more->failures[i];
}

static int compare_latencies(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a < b ? -1 : a > b;
}

/* By the nearest-rank method. */
static uint64_t percentile(const uint64_t *sorted, uint64_t nr, unsigned int percent)
{
	return sorted[(nr * percent + 99) / 100 - 1];
}

struct naming_latency naming_stats_latency(const struct naming_stats *s)
{
	uint64_t nr = s->nr_batches < NAMING_LAST_BATCHES ? s->nr_batches : NAMING_LAST_BATCHES;
	uint64_t sorted[NAMING_LAST_BATCHES];

	if (!nr)
		return (struct naming_latency){ 0 };
	memcpy(sorted, s->batch_ns, nr * sizeof(*sorted));
	qsort(sorted, nr, sizeof(*sorted), compare_latencies);
	return (struct naming_latency){
		.p50_ns = percentile(sorted, nr, 50),
		.p99_ns = percentile(sorted, nr, 99),
		.max_ns = sorted[nr - 1],
	};
}
