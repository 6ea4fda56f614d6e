/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What naming did: batches (one source's addresses each), outcomes by reason, and how long the last
 * batches took. Pure; who asks for names tells it.
 */
#ifndef AGENT_NAMING_STATS_H
#define AGENT_NAMING_STATS_H

#include <stdbool.h>
#include <stdint.h>

#define NAMING_LAST_BATCHES 1024u

/* Why an address has no name: for programs, for people. Append only. */
#define NAMING_FAILURES(X)                                                                         \
	X(NO_MAPPING, "no_mapping", "in no known mapping")                                         \
	X(NO_FILE, "no_file", "the file could not be read")                                        \
	X(NO_SYMBOL, "no_symbol", "no symbol of the file covers it")                               \
	X(NO_JIT_MAP, "no_jit_map", "made at run time, and nothing describes it")                  \
	X(NO_KERNEL_LIST, "no_kernel_list", "the kernel does not show its symbols")                \
	X(NO_KERNEL_SYMBOL, "no_kernel_symbol", "the kernel lists no function there")              \
	X(NO_ROOM, "no_room", "no memory, or past a limit")                                        \
	X(REUSED, "reused", "different code was there in turn")

enum naming_failure {
#define X(failure, machine, people) NAMING_##failure,
	NAMING_FAILURES(X)
#undef X
		NAMING_NR_FAILURES,
};

struct naming_stats {
	uint64_t nr_batches;
	uint64_t nr_addresses;
	uint64_t nr_raw;       /* addresses shown as 0x… */
	uint64_t nr_fallbacks; /* batches whose best source could not be used */
	uint64_t failures[NAMING_NR_FAILURES];
	uint64_t batch_ns[NAMING_LAST_BATCHES]; /* a ring: of batch n at n modulo its size */
};

void naming_stats_add_batch(struct naming_stats *s, uint64_t took_ns, bool is_fallback);
void naming_stats_add_named(struct naming_stats *s);
void naming_stats_add_unnamed(struct naming_stats *s, enum naming_failure why, bool is_raw);

/* One that was counted as unnamed got a name after all. */
void naming_stats_found(struct naming_stats *s, enum naming_failure was, bool was_raw);

/* Of the last batches; the smallest that so many of a hundred do not exceed. All 0: there was none. */
struct naming_latency {
	uint64_t p50_ns, p99_ns, max_ns;
};
struct naming_latency naming_stats_latency(const struct naming_stats *s);

#endif
