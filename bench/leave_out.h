/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a sample that leave_out.c leaves out one by one: all calls of one helper, or lookups in one map.
 * X(NAME, what it is for) */
#ifndef BENCH_LEAVE_OUT_H
#define BENCH_LEAVE_OUT_H

#ifdef __bpf__
#include "vmlinux.h"
#else
#include <linux/types.h>
#endif

#define PARTS_LEFT_OUT                                                                             \
	X(TARGET, "target: hash lookup")                                                           \
	X(PROCESS, "process: hash lookup")                                                         \
	X(IDS, "PID and TID")                                                                      \
	X(CPU, "CPU number")                                                                       \
	X(TIME, "clock")                                                                           \
	X(ENTRY, "registers at kernel entry")                                                      \
	X(NAMES, "names")                                                                          \
	X(WINDOW, "stack windows")                                                                 \
	X(QUERY, "ring: query")                                                                    \
	X(RING, "ring: record")

/* Nothing goes without these: they are only counted. */
#define PARTS_COUNTED                                                                              \
	X(WORDS, "other reads of user memory")                                                     \
	X(TASK, "current task")                                                                    \
	X(TICKS, "counters: lookup")                                                               \
	X(SCRATCH, "scratch: lookup")                                                              \
	X(RULES, "rule cache: lookup")                                                             \
	X(TABLES, "mappings and tables: lookup")

enum part {
#define X(name, text) PART_##name,
	PARTS_LEFT_OUT PARTS_COUNTED
#undef X
		NR_PARTS,
	NR_LEFT_OUT = PART_WORDS,
};

/* In bytes from the begin of struct pa_scratch. What is in none of these is the state of the walk. */
struct scratch_places {
	__u32 regs, regs_end;
	__u32 window, window_end;
	__u32 record;
};

#define PART_COUNTING 31 /* not left out: calls are counted */

#endif
