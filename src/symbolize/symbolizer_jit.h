/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of code generated at run time, from the perf maps and jitdumps of one process. */
#ifndef SYMBOLIZE_SYMBOLIZER_JIT_H
#define SYMBOLIZE_SYMBOLIZER_JIT_H

#include "symbolize/symbolizer.h"

/* A sampled address of generated code. */
struct jit_address {
	uint64_t addr;
	uint64_t time_ns; /* CLOCK_MONOTONIC: of the first sample there */
	/* From jit_versions_at(), for the first file: then the time is ignored; otherwise 0. */
	uint64_t version;
};

/* What the JIT of one process wrote about its code. */
struct jit_symbol_files {
	int map_fd, dump_fd; /* borrowed during the call; -1: none */
	/* the rest is not read; 0: the file is over the limits */
	uint64_t map_max_bytes, dump_max_bytes;
	uint64_t until_ns; /* later records are ignored */
};

#define JIT_MAX_FILE_BYTES (1ull << 30)
#define JIT_SYMBOL_FILES(map, dump)                                                                \
	((struct jit_symbol_files){ .map_fd = (map),                                               \
				    .dump_fd = (dump),                                             \
				    .map_max_bytes = JIT_MAX_FILE_BYTES,                           \
				    .dump_max_bytes = JIT_MAX_FILE_BYTES,                          \
				    .until_ns = UINT64_MAX })

#define JIT_MAX_ORIGINS 8 /* a process and its ancestors */

/* Each file is used for what the files before it cannot resolve. */
struct jit_sources {
	struct jit_symbol_files symbol_files[JIT_MAX_ORIGINS];
	uint32_t nr_symbol_files;
	/* all addresses that will be looked up; sorted by the call */
	struct jit_address *addresses;
	uint32_t nr_addresses;
	const struct cancel *cancel; /* borrowed during the call; NULL: never cancelled */
};

struct jit_counts {
	uint64_t nr_maps;      /* perf maps read */
	uint64_t nr_map_lines; /* lines in them */
	uint64_t nr_map_bad_lines;
	uint64_t nr_maps_too_large; /* over the limit */
	uint64_t nr_dumps;          /* jitdumps read */
	uint64_t nr_dumps_bad;
	uint64_t nr_dump_records; /* records in them */
	uint64_t nr_dump_bad_records;
	uint64_t nr_dump_bad_lines;  /* addresses with invalid line information */
	uint64_t nr_dumps_too_large; /* over the limit */
};

void jit_counts_add(struct jit_counts *to, const struct jit_counts *from);

/* Maps (address, time) to the JIT method loaded there at that time. */
struct jit_versions;

/* 0: the code at the address's own time; otherwise a number that is unique to the piece of code. */
uint64_t jit_versions_at(const struct jit_versions *v, uint64_t addr);

/* Calls fn for each of the times (sorted, CLOCK_MONOTONIC) by its index, in order; during the call,
 * jit_versions_at() refers to that time. A negative result of fn ends it. 0: it was not called,
 * because no address had its code replaced according to the jitdump; 1: it was. Sorts the
 * addresses. -ENOMEM; -EBADMSG: not a jitdump; -ECANCELED. */
int jit_versions_each(int dump_fd, struct jit_address *addresses, uint32_t nr_addresses,
		      const uint64_t *times_ns, uint32_t nr_times,
		      int (*fn)(void *ctx, uint32_t i, const struct jit_versions *v), void *ctx,
		      const struct cancel *cancel);

/* Symbols from perf maps and jitdumps. Of several pieces of code at an address, the last one in a
 * map counts, and in a jitdump the last one before the address's time. All files are read here; the
 * counts are increased. Invalid records only mean that their own symbols are missing. -ENOMEM,
 * -E2BIG, -ECANCELED. */
int symbolizer_new_jit(const struct jit_sources *src, struct jit_counts *counts,
		       struct symbolizer **ret_symbolizer);

#endif
