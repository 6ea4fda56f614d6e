/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables, each kept once however many files it is of: copies of one library in many containers
 * are files of their own, and have one table. Whether two tables are one is asked of the tables, not
 * of what their files say of themselves, so that nobody can pass his table off as another's. They are
 * kept in the kernel or, until they are there, here; and all together below a limit, over which those
 * go that no stack has shown for the longest time. Of the session's thread.
 */
#ifndef STACKS_SHARED_TABLES_H
#define STACKS_SHARED_TABLES_H

#include "stacks/shared_rules.h"

struct shared_table {
	uint32_t nr_files; /* files that use it; without any it is freed */
	bool is_fixed;     /* never evicted: it is small, and every process uses it */
	bool is_gone;      /* evicted: its files shall release it */
	bool is_in_kernel;
	bool was_refused;           /* the kernel had no room for it; counted */
	bool is_too_big;            /* it never will fit: others need not be evicted */
	struct unwind_table *table; /* owned; NULL once it is in the kernel */
	struct table_slot slot;     /* when it is in the kernel */
	uint64_t base;              /* the table's */
	struct held_rules rules;    /* the table's */
	uint64_t hash;              /* of the table */
	size_t bytes;
	uint64_t used_ns; /* last time that a stack contained one of its files */
};

struct shared_tables_stats {
	uint64_t nr_shared;  /* times that an equal table existed already */
	uint64_t nr_evicted; /* times that a table was evicted to make room */
	uint64_t nr_refused; /* tables for which the kernel had no room when they were ready */
	uint64_t nr_short;   /* tables without room for all of their rules */
	uint64_t peak_bytes; /* of all tables */
};

struct shared_tables {
	struct tables *kernel; /* borrowed; NULL: tables stay here */
	struct shared_rules rules;
	struct shared_table **all; /* owned, with its items; none that was evicted */
	uint32_t nr, cap;
	size_t bytes; /* of all, here and in the kernel */
	size_t max_bytes;
	bool needs_room;  /* the kernel refused one */
	bool needs_rules; /* the dictionary refused some rules */
	struct shared_tables_stats stats;
};

int shared_tables_init(struct shared_tables *s, struct tables *kernel, size_t max_bytes);
void shared_tables_done(struct shared_tables *s); /* every file has released its table */

/* Adds the result of compiling one more file; dict: of its rules. Takes the table, even on failure.
 * The file uses what is returned. -ENOMEM. */
int shared_tables_add(struct shared_tables *s, struct unwind_table *t, const struct rule_dict *dict,
		      struct shared_table **ret_table);

/* One more number of the same file uses it. */
struct shared_table *shared_tables_hold(struct shared_table *t);

/* A file releases it. */
void shared_tables_let_go(struct shared_tables *s, struct shared_table *t);

/* Publishes it to the kernel, unless it is there; returns whether it is now. */
bool shared_tables_send(struct shared_tables *s, struct shared_table *t);

/* Evicts tables until all fit below the limit, and those that can be compiled better now; returns
 * whether any was. *ret_is_named: some were in the kernel, and every list that refers to them must
 * be replaced now. */
bool shared_tables_trim(struct shared_tables *s, bool *ret_is_named);

/* The rule for a link-time address. */
pa_rule shared_table_rule(const struct shared_tables *s, const struct shared_table *t,
			  uint64_t addr);

#endif
