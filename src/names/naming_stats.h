/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of symbolization: batches (the addresses of one source), failures by reason, and the
 * duration of the last batches.
 */
#ifndef NAMES_NAMING_STATS_H
#define NAMES_NAMING_STATS_H

#include <stdbool.h>
#include <stdint.h>

#define NAMING_LAST_BATCHES 1024u

/* Why an address has no symbol: a machine-readable name, and a text. Append only. */
#define NAMING_FAILURES(X)                                                                         \
	X(NO_MAPPING, "no_mapping", "in no known mapping")                                         \
	X(NO_FILE, "no_file", "the file could not be read")                                        \
	X(NO_SYMBOL, "no_symbol", "no symbol of the file covers it")                               \
	X(NO_JIT_MAP, "no_jit_map", "generated at run time, without a perf map or jitdump")        \
	X(NO_KERNEL_LIST, "no_kernel_list", "the kernel does not show its symbols")                \
	X(NO_KERNEL_SYMBOL, "no_kernel_symbol", "the kernel lists no function there")              \
	X(NO_ROOM, "no_room", "no memory, or past a limit")                                        \
	X(REUSED, "reused", "different code was loaded there at different times")                  \
	X(INTERRUPTED, "interrupted", "the user did not wait for them")

/* What symbols are looked up in. */
enum naming_source {
	NAMING_FROM_FILE,      /* a file and its debug files */
	NAMING_FROM_KERNEL,    /* the kernel's list */
	NAMING_FROM_GENERATED, /* perf maps and jitdumps */
	NAMING_FROM_VDSO,
	NAMING_KNOWN, /* nothing: the agent knows the code itself */
	NAMING_NR_SOURCES,
};

enum naming_failure {
#define X(failure, machine, people) NAMING_##failure,
	NAMING_FAILURES(X)
#undef X
		NAMING_NR_FAILURES,
};

/* Batches of kernel addresses alone. */
struct naming_kernel_counts {
	uint64_t nr_batches;
	uint64_t nr_addresses;
	uint64_t nr_raw;       /* addresses shown as 0x… */
	uint64_t nr_unlisted;  /* batches for which no list of symbols could be used */
	uint64_t nr_denied;    /* batches whose first list shows no addresses to this process */
	uint64_t nr_failed;    /* batches whose first list could not be used for another reason */
	uint64_t nr_fallbacks; /* batches that used another list, or none */
};

struct naming_stats {
	uint64_t nr_batches;
	uint64_t nr_addresses;
	uint64_t nr_shared; /* of nr_addresses: known from other models of the session */
	uint64_t named[NAMING_NR_SOURCES]; /* addresses that got a symbol from it */
	uint64_t nr_raw;                   /* addresses shown as 0x… */
	uint64_t nr_fallbacks;             /* batches whose best source could not be used */
	uint64_t
		nr_lines_interrupted; /* addresses without a line, in files whose lines the user did not wait for */
	uint64_t failures[NAMING_NR_FAILURES];
	uint64_t batch_ns[NAMING_LAST_BATCHES]; /* a ring: batch n is at n modulo its size */
	struct naming_kernel_counts kernel;
	uint64_t kernel_batch_ns
		[NAMING_LAST_BATCHES]; /* a ring of the same kind, of kernel.nr_batches */
};

void naming_stats_add_batch(struct naming_stats *s, uint64_t took_ns, bool is_fallback);

/* For a batch of kernel addresses, in addition; its nr_batches is 1. */
void naming_stats_add_kernel(struct naming_stats *s, const struct naming_kernel_counts *batch,
			     uint64_t took_ns);
void naming_stats_add_named(struct naming_stats *s, enum naming_source source);
void naming_stats_add_unnamed(struct naming_stats *s, enum naming_failure why, bool is_raw);

/* Adds all counts of `from`. */
void naming_stats_add(struct naming_stats *to, const struct naming_stats *more);

/* An address that was counted as unnamed got a name later, from a perf map or jitdump. */
void naming_stats_found(struct naming_stats *s, enum naming_failure was, bool was_raw);

/* Percentiles of the last batches; all 0 if there were none. */
struct naming_latency {
	uint64_t p50_ns, p99_ns, max_ns;
};
struct naming_latency naming_stats_latency(const struct naming_stats *s);
struct naming_latency naming_stats_kernel_latency(const struct naming_stats *s);

#endif
