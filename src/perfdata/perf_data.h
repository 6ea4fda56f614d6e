/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sink that streams samples into a file like that of 'perf record -g', for perf and other readers
 * of perf.data. Memory does not grow with the capture.
 *
 * The file has only what samples need: each sample comes after the names, the fork and the mappings
 * that it needs and that a reader does not know yet. Their times are those of the events, so that a
 * reader, which sorts by time, sees what applied to each sample.
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
	struct outfile *file;             /* must be patchable */
	const struct value_types *values; /* borrowed during the call */
	struct perf_sampling sampling;
	/* The number of samples that did not reach the sink so far, which never decreases; called
	 * at each round. NULL: known only at the end. */
	uint64_t (*nr_lost)(void *ctx);
	void *ctx; /* borrowed, like the file */
};

struct perf_data;

/* Writes the beginning of the file. -ESPIPE: the file cannot be patched. */
int perf_data_new(const struct perf_data_config *cfg, struct perf_data **ret_data,
		  struct pa_error *err);
struct perf_data *perf_data_free(struct perf_data *d);
DEFINE_CLEANUP(struct perf_data *, perf_data_free)

/* The sink for the pipe; borrowed. A failed write is reported by perf_data_finish(), so that other
 * outputs continue. */
const struct sample_sink *perf_data_sink(const struct perf_data *d);

/* After the last sample: completes the file, which the caller commits. nr_lost: all samples that
 * did not reach the sink. */
int perf_data_finish(struct perf_data *d, uint64_t nr_lost, struct pa_error *err);

#endif
