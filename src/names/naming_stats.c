/* SPDX-License-Identifier: Apache-2.0 */
#include "names/naming_stats.h"

#include <stdlib.h>
#include <string.h>

void naming_stats_add_batch(struct naming_stats *s, uint64_t took_ns, bool is_fallback)
{
	s->batch_ns[s->nr_batches++ % NAMING_LAST_BATCHES] = took_ns;
	s->nr_fallbacks += is_fallback;
}

static void add_kernel_counts(struct naming_kernel_counts *to,
			      const struct naming_kernel_counts *more)
{
	to->nr_batches += more->nr_batches;
	to->nr_addresses += more->nr_addresses;
	to->nr_raw += more->nr_raw;
	to->nr_unlisted += more->nr_unlisted;
	to->nr_denied += more->nr_denied;
	to->nr_failed += more->nr_failed;
	to->nr_fallbacks += more->nr_fallbacks;
}

void naming_stats_add_kernel(struct naming_stats *s, const struct naming_kernel_counts *batch,
			     uint64_t took_ns)
{
	s->kernel_batch_ns[s->kernel.nr_batches % NAMING_LAST_BATCHES] = took_ns;
	add_kernel_counts(&s->kernel, batch);
}

void naming_stats_add_named(struct naming_stats *s, enum naming_source source)
{
	s->nr_addresses++;
	s->named[source]++;
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
	s->named[NAMING_FROM_GENERATED]++;
}

/* Appends the last times of one ring to another, which has so many so far. */
static void ring_append(uint64_t *to, uint64_t nr_to, const uint64_t *from, uint64_t nr_from)
{
	uint64_t first = nr_from > NAMING_LAST_BATCHES ? nr_from - NAMING_LAST_BATCHES : 0;

	for (uint64_t i = first; i < nr_from; i++)
		to[(nr_to + i) % NAMING_LAST_BATCHES] = from[i % NAMING_LAST_BATCHES];
}

void naming_stats_add(struct naming_stats *to, const struct naming_stats *more)
{
	ring_append(to->batch_ns, to->nr_batches, more->batch_ns, more->nr_batches);
	to->nr_batches += more->nr_batches;
	ring_append(to->kernel_batch_ns, to->kernel.nr_batches, more->kernel_batch_ns,
		    more->kernel.nr_batches);
	add_kernel_counts(&to->kernel, &more->kernel);
	to->nr_addresses += more->nr_addresses;
	to->nr_shared += more->nr_shared;
	to->nr_raw += more->nr_raw;
	to->nr_fallbacks += more->nr_fallbacks;
	to->nr_lines_interrupted += more->nr_lines_interrupted;
	for (unsigned int i = 0; i < NAMING_NR_SOURCES; i++)
		to->named[i] += more->named[i];
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

static struct naming_latency ring_latency(const uint64_t *ring, uint64_t nr_batches)
{
	uint64_t nr = nr_batches < NAMING_LAST_BATCHES ? nr_batches : NAMING_LAST_BATCHES;
	uint64_t sorted[NAMING_LAST_BATCHES];

	if (!nr)
		return (struct naming_latency){ 0 };
	memcpy(sorted, ring, nr * sizeof(*sorted));
	qsort(sorted, nr, sizeof(*sorted), compare_latencies);
	return (struct naming_latency){
		.p50_ns = percentile(sorted, nr, 50),
		.p99_ns = percentile(sorted, nr, 99),
		.max_ns = sorted[nr - 1],
	};
}

struct naming_latency naming_stats_latency(const struct naming_stats *s)
{
	return ring_latency(s->batch_ns, s->nr_batches);
}

struct naming_latency naming_stats_kernel_latency(const struct naming_stats *s)
{
	return ring_latency(s->kernel_batch_ns, s->kernel.nr_batches);
}
