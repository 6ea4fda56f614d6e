/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sink that streams samples into a file as 'perf record -g' would have written it, for perf and
 * whatever else reads perf.data. Memory does not grow with the capture.
 *
 * Only what has samples is in the file: a sample comes after the names, the fork and the mappings that
 * it needs and that a reader does not know yet. Their times are those of the events, so that a reader,
 * which sorts by time, sees what applied to each sample.
 */
#ifndef PERFDATA_PERF_DATA_H
#define PERFDATA_PERF_DATA_H

#include "base/cleanup.h"
#include "base/error.h"
#include "base/outfile.h"
#include "perfdata/perf_header.h"
#include "sample/sink.h"
#include "sample/value_types.h"
#include "world/world.h"

#define PERF_DATA_FORMAT "perf.data"
#define PERF_DATA_SUFFIX ".perf.data"

struct perf_data_config {
	struct world *world;              /* borrowed, like the file, until perf_data_free() */
	struct outfile *file;             /* can be patched */
	const struct value_types *values; /* borrowed during the call */
	struct perf_sampling sampling;
	/* Samples that have not reached the sink so far, which never get fewer; asked at each round.
	 * NULL: known at the end only. */
	uint64_t (*nr_lost)(void *ctx);
	void *ctx; /* borrowed, like the file */
};

struct perf_data;

/* Writes the beginning of the file. -ESPIPE: it cannot be patched. */
int perf_data_new(const struct perf_data_config *cfg, struct perf_data **ret_data,
		  struct pa_error *err);
struct perf_data *perf_data_free(struct perf_data *d);
DEFINE_CLEANUP(struct perf_data *, perf_data_free)

/* For the pipe; borrowed. A failed write shows in perf_data_finish(): other outputs go on. */
const struct sample_sink *perf_data_sink(const struct perf_data *d);

/* After the last sample: completes the file, which the caller commits. nr_lost: samples that did not
 * reach the sink, in all. */
int perf_data_finish(struct perf_data *d, uint64_t nr_lost, struct pa_error *err);

#endif
