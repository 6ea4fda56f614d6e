/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind table of one binary, compiled: rows, the directory over them, and the numbers of the
 * rules that they use. It is made of plain arrays in the form of bpf/rows.h, to be copied as they
 * are. But for its numbers it never changes once it is made, and knows nothing of processes or the kernel.
 */
#ifndef UNWIND_TABLE_H
#define UNWIND_TABLE_H

#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/rows.h"

struct cfi;
struct rule_dict;

#define UNWIND_MAX_ROWS (32u << 20) /* 128 MiB; the largest known file has 1.1 million */
#define UNWIND_MAX_RULES                                                                           \
	4096                    /* of one file, so that a hostile one cannot use the dictionary up;
			       * the most seen is 700 */
#define UNWIND_PADDING_BYTES 32 /* between two FDEs: filling, never run */

struct unwind_stats {
	uint32_t nr_fdes;       /* in the index */
	uint32_t nr_bad;        /* damaged: of them, or not even in it */
	uint32_t nr_outside;    /* of them: empty, or not about code */
	uint32_t nr_user;       /* rows that are left to user space */
	uint32_t nr_refused;    /* rows that are so because there was no room for another rule */
	uint64_t covered_bytes; /* of code, with the padding inside; about, where sources overlap */
};

struct unwind_table {
	uint64_t base;       /* link-time address of the first block; a multiple of PA_BLOCK_SIZE */
	struct pa_row *rows; /* owned */
	uint32_t nr_rows;
	struct pa_block *blocks; /* owned */
	uint32_t nr_blocks;
	uint16_t *rules; /* owned; numbers in use but the two fixed ones, each once */
	uint32_t nr_rules;
	struct unwind_stats stats;
};

/*
 * Compiles nr sources into one table. Where two of them cover an address, the earlier source
 * counts; inside one source, the FDE with the highest start does, and of those with the same start
 * the last in the index. A damaged FDE is left out and counted. -EINVAL: the sources are of
 * different architectures, or none; -E2BIG, -ENOMEM.
 */
#define UNWIND_MAX_SOURCES 2
int unwind_compile(const struct cfi *const *sources, size_t nr, struct rule_dict *dict,
		   struct unwind_table **ret_table);

/* The same, and what is known of the code counts before every source; there may be none of them. */
struct known_code;
int unwind_compile_known(const struct cfi *const *sources, size_t nr,
			 const struct known_code *known, struct rule_dict *dict,
			 struct unwind_table **ret_table);

struct unwind_table *unwind_table_free(struct unwind_table *t);
DEFINE_CLEANUP(struct unwind_table *, unwind_table_free)

/* Gives its rules, which are numbers[old] now, other numbers. */
void unwind_table_renumber(struct unwind_table *t, const uint16_t *numbers);

/* The number of the rule for a link-time address; PA_RULE_ID_NONE where there is none. */
uint16_t unwind_table_find_id(const struct unwind_table *t, uint64_t pc);

/* The rule itself; PA_RULE_WORD_NONE where there is none. */
pa_rule unwind_table_find(const struct unwind_table *t, const struct rule_dict *dict, uint64_t pc);

/* The first address above pc for which another row, or another block, answers; 0: none does. */
uint64_t unwind_table_next(const struct unwind_table *t, uint64_t pc);

#endif
