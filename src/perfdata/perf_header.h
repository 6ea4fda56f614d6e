/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The beginning of a perf.data file: its header, the one event and that event's ID. After that come
 * the data, and the features that the header lists (perfdata/perf_features.h). The header is
 * written twice: the first version says that there is no data.
 */
#ifndef PERFDATA_PERF_HEADER_H
#define PERFDATA_PERF_HEADER_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Readers reject an event structure that is larger than theirs unless the rest is 0: hence the size
 * of Linux 4.1. */
#define PERF_ATTR_BYTES PERF_ATTR_SIZE_VER5

#define PERF_NR_FEATURE_WORDS 4
#define PERF_HEADER_BYTES 104
/* Older versions of 'perf inject' keep the data at its offset, and write an event of their own,
 * larger size before it. */
#define PERF_DATA_OFFSET 4096

/* How samples were taken. */
struct perf_sampling {
	bool is_cycles; /* otherwise by the CPU's clock */
	unsigned int rate_hz;
	bool has_kernel_chains;
};

struct perf_event_attr perf_attr(const struct perf_sampling *s);
const char *perf_event_name(const struct perf_sampling *s);

/* data_bytes: 0 at first. features: a bit for each feature. -ENOMEM, -E2BIG. */
int perf_put_header(struct buf *b, uint64_t data_bytes,
		    const uint64_t features[PERF_NR_FEATURE_WORDS]);

/* Appends what is between the header and the data. */
int perf_put_event(struct buf *b, const struct perf_event_attr *attr);

#endif
