/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiled unwind table of one binary: rows, their directory, and the numbers of the rules
 * used. Plain arrays in the format of bpf/rows.h, copied verbatim. Apart from its rule numbers it
 * is immutable, and it knows nothing about processes or the kernel.
 */
#ifndef UNWIND_TABLE_H
#define UNWIND_TABLE_H

#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/rows.h"

struct cfi;
struct rule_dict;

#define UNWIND_MAX_ROWS (32u << 20) /* 128 MiB; the largest known file has 1.1 million */
/* per file, so that a hostile one cannot fill the dictionary; the most seen is 700 */
#define UNWIND_MAX_RULES 4096
#define UNWIND_PADDING_BYTES 32 /* between two FDEs: padding, never executed */

struct unwind_stats {
	uint32_t nr_fdes;    /* FDEs in the index */
	uint32_t nr_bad;     /* malformed FDEs, in the index or not even there */
	uint32_t nr_outside; /* FDEs in the index that are empty, or not for code */
	uint32_t nr_user;    /* rows left to user space */
	uint32_t nr_refused; /* of nr_user: rows without room for another rule */
	/* bytes of code, including padding; approximate if sources overlap */
	uint64_t covered_bytes;
};

struct unwind_table {
	uint64_t base;       /* link-time address of the first block; a multiple of PA_BLOCK_SIZE */
	struct pa_row *rows; /* owned */
	uint32_t nr_rows;
	struct pa_block *blocks; /* owned */
	uint32_t nr_blocks;
	uint16_t *rules; /* owned; rule numbers in use except the two fixed ones, each once */
	uint32_t nr_rules;
	struct unwind_stats stats;
	void *store; /* owned; holds the three arrays; NULL: each is owned separately */
};

/*
 * Compiles nr sources into one table. Where two sources cover an address, the earlier one wins;
 * within a source, the FDE with the highest start, and of several with the same start the last in
 * the index. A malformed FDE is skipped and counted. -EINVAL: the sources have different
 * architectures, or there are none; -E2BIG, -ENOMEM.
 */
#define UNWIND_MAX_SOURCES 2
int unwind_compile(const struct cfi *const *sources, size_t nr, struct rule_dict *dict,
		   struct unwind_table **ret_table);

/* As unwind_compile(); known code overrides all sources, and there may be no source. */
struct known_code;
int unwind_compile_known(const struct cfi *const *sources, size_t nr,
			 const struct known_code *known, struct rule_dict *dict,
			 struct unwind_table **ret_table);

struct unwind_table *unwind_table_free(struct unwind_table *t);
DEFINE_CLEANUP(struct unwind_table *, unwind_table_free)

/* Renumbers the rules of the table: old becomes numbers[old]. */
void unwind_table_renumber(struct unwind_table *t, const uint16_t *numbers);

/* The rule number for a link-time address; PA_RULE_ID_NONE if there is none. */
uint16_t unwind_table_find_id(const struct unwind_table *t, uint64_t pc);

/* The rule for a link-time address; PA_RULE_WORD_NONE if there is none. */
pa_rule unwind_table_find(const struct unwind_table *t, const struct rule_dict *dict, uint64_t pc);

/* The first address above pc that another row or block covers; 0 if none does. */
uint64_t unwind_table_next(const struct unwind_table *t, uint64_t pc);

#endif
