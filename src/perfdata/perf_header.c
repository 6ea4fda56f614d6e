/* SPDX-License-Identifier: Apache-2.0 */
#include "perfdata/perf_header.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "perfdata/perf_records.h"

#define MAGIC "PERFILE2"

struct section {
	uint64_t offset, size;
};

#define EVENT_END (PERF_HEADER_BYTES + sizeof(uint64_t) + PERF_ATTR_BYTES + sizeof(struct section))

struct file_header {
	char magic[8];
	uint64_t size;
	uint64_t attr_size; /* size of an event with the location of its IDs */
	struct section attrs, data, event_types;
	uint64_t features[PERF_NR_FEATURE_WORDS];
};
_Static_assert(sizeof(struct file_header) == PERF_HEADER_BYTES, "what the format says");
_Static_assert(PERF_ATTR_BYTES == 112, "what every perf since Linux 4.1 accepts");

struct perf_event_attr perf_attr(const struct perf_sampling *s)
{
	struct perf_event_attr attr = {
		.type = s->is_cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_BYTES,
		.config = s->is_cycles ? (uint64_t)PERF_COUNT_HW_CPU_CYCLES
				       : (uint64_t)PERF_COUNT_SW_CPU_CLOCK,
		.sample_type = PERF_SAMPLE_FIELDS,
		.disabled = 1,
		.inherit = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.exclude_callchain_kernel = !s->has_kernel_chains,
	};

	attr.freq = s->is_cycles;
	attr.sample_period = s->is_cycles ? s->rate_hz : NS_PER_S / s->rate_hz;
	return attr;
}

const char *perf_event_name(const struct perf_sampling *s)
{
	return s->is_cycles ? "cycles" : "cpu-clock";
}

int perf_put_header(struct buf *b, uint64_t data_bytes,
		    const uint64_t features[PERF_NR_FEATURE_WORDS])
{
	struct file_header h = {
		.size = sizeof(h),
		.attr_size = PERF_ATTR_BYTES + sizeof(struct section),
		.attrs = { PERF_HEADER_BYTES + sizeof(uint64_t),
			   PERF_ATTR_BYTES + sizeof(struct section) },
		.data = { PERF_DATA_OFFSET, data_bytes },
	};

	memcpy(h.magic, MAGIC, sizeof(h.magic));
	memcpy(h.features, features, sizeof(h.features));
	return buf_append(b, &h, sizeof(h));
}

int perf_put_event(struct buf *b, const struct perf_event_attr *attr)
{
	const uint64_t id = PERF_EVENT_ID;
	const struct section ids = { PERF_HEADER_BYTES, sizeof(id) };
	static const char padding[PERF_DATA_OFFSET - EVENT_END];
	int r = buf_append(b, &id, sizeof(id));

	if (r == 0)
		r = buf_append(b, attr, PERF_ATTR_BYTES);
	if (r == 0)
		r = buf_append(b, &ids, sizeof(ids));
	return r < 0 ? r : buf_append(b, padding, sizeof(padding));
}
