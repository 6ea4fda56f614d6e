/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a perf.data file contains besides records: the machine, the recording program and its
 * options, the time, and the build-ids of files with samples.
 */
#ifndef PERFDATA_PERF_FEATURES_H
#define PERFDATA_PERF_FEATURES_H

#include "base/build_id.h"
#include "base/idtable.h"
#include "perfdata/perf_header.h"

struct perf_file {
	char *path; /* owned */
	struct build_id id;
	bool is_kernel;
};

/* Limit for the build-id entries of a file: they take about 100 bytes each, but the profiled
 * programs determine their number and length. */
#define PERF_FILES_MAX_BYTES (16u << 20)

/* Each path once per build-id, as long as there is room. A file without an entry is still found,
 * since the record of its mapping has the build-id as well. */
struct perf_files {
	struct idtable index;
	uint64_t seed;           /* of the index: users choose the paths */
	struct perf_file *files; /* owned */
	uint32_t nr_files, cap_files;
	size_t nr_bytes; /* size of the entries */
};

void perf_files_done(struct perf_files *f);

/* Adds a file; without room or memory the file is left out. */
void perf_files_add(struct perf_files *f, const char *path, const struct build_id *id,
		    bool is_kernel);

struct perf_features {
	const struct perf_sampling *sampling; /* all borrowed during the call */
	const struct perf_files *files;
	const char *version;        /* of this program */
	uint64_t first_ns, last_ns; /* times of samples */
};

/* Appends the features, which begin at that offset of the file, and sets a bit for each. -ENOMEM,
 * -E2BIG. */
int perf_put_features(struct buf *b, uint64_t offset, const struct perf_features *f,
		      uint64_t ret_bits[PERF_NR_FEATURE_WORDS]);

#endif
