/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a perf.data file says beside its records: the machine, who recorded, how, when, and the
 * build-ids of files with samples.
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

/* What their entries may occupy in a file: about 100 bytes each, but whoever runs programs chooses how
 * many and how long. */
#define PERF_FILES_MAX_BYTES (16u << 20)

/* Each path with each build-id once, as long as there is room: the record of a mapping has its build-id
 * as well, so that a reader without an entry still finds the file. */
struct perf_files {
	struct idtable index;
	uint64_t seed;           /* of the index: users choose their paths */
	struct perf_file *files; /* owned */
	uint32_t nr_files, cap_files;
	size_t nr_bytes; /* of the entries */
};

void perf_files_done(struct perf_files *f);

/* Without room or memory the file is left out. */
void perf_files_add(struct perf_files *f, const char *path, const struct build_id *id,
		    bool is_kernel);

struct perf_features {
	const struct perf_sampling *sampling; /* all borrowed during the call */
	const struct perf_files *files;
	const char *version;        /* of who recorded */
	uint64_t first_ns, last_ns; /* times of samples */
};

/* Puts them where they begin at that offset of the file, and says in the bits which there are. -ENOMEM,
 * -E2BIG. */
int perf_put_features(struct buf *b, uint64_t offset, const struct perf_features *f,
		      uint64_t ret_bits[PERF_NR_FEATURE_WORDS]);

#endif
