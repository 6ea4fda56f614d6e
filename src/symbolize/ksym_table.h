/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's functions by address: 16 bytes each and their names in one block, ready for binary
 * search and for a file. Sizes are unknown: a function ends where the next begins.
 */
#ifndef SYMBOLIZE_KSYM_TABLE_H
#define SYMBOLIZE_KSYM_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define KSYM_MAX_SYMBOLS (8u << 20) /* a distribution kernel has 150,000 */
#define KSYM_MAX_NAME_BYTES (512u << 20)

/* Also the format in the cache file. */
struct ksym {
	uint64_t addr;
	uint32_t name; /* offset in names; for aliases, increases with the position in the list */
	uint32_t rank : 2;    /* the alias with the highest rank is shown */
	uint32_t module : 30; /* a hash of the module's name; 0: the kernel itself */
};

struct ksym_table {
	struct ksym *syms; /* owned; after ksym_table_finish() sorted by address, one per address */
	uint32_t nr;
	uint32_t cap;
	uint32_t nr_sorted; /* this many at the beginning are sorted */
	struct buf names;   /* owned: strings with their NULs */
};

void ksym_table_init(struct ksym_table *t);
void ksym_table_done(struct ksym_table *t);

/* A symbol as in a list: its name, and "[module]" or nothing. Both without NULs. */
struct ksym_text {
	const char *name;
	size_t name_bytes;
	const char *module;
	size_t module_bytes;
};

/* -ENOMEM; -E2BIG: over a limit. */
int ksym_table_add(struct ksym_table *t, uint64_t addr, unsigned int rank,
		   const struct ksym_text *text);

/* Sorts, and keeps the best alias of each address: the one with the highest rank, and of several
 * the last in the list. -ENOMEM. */
int ksym_table_finish(struct ksym_table *t);

/* "name" or "name [module]" of the function at addr, borrowed until ksym_table_done(), and its
 * start. NULL if there is none. */
const char *ksym_table_find(const struct ksym_table *t, uint64_t addr, uint64_t *ret_start);

/* True if no other table could have a better result for addr. False if the function begins on an
 * earlier page and its end is unknown. */
bool ksym_table_is_sure(const struct ksym_table *t, uint64_t addr);

#endif
