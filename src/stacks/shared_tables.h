/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables, each kept once however many files it is for: copies of one library in many
 * containers are different files, but share one table. Whether two tables are the same is decided
 * by their contents and not by their files' build-ids, so that nobody can pass off a table as that
 * of another file. Tables are kept in the kernel or, until they are there, in user space. All
 * together are kept below a limit; tables of files that were in no stack for the longest time are
 * evicted.
 *
 * Used by the session's thread.
 */
#ifndef STACKS_SHARED_TABLES_H
#define STACKS_SHARED_TABLES_H

#include "stacks/shared_rules.h"

struct shared_table {
	uint32_t nr_files; /* files that use it; freed without any */
	bool is_fixed;     /* never evicted, because it is small and every process uses it */
	bool is_gone;      /* evicted: its files have to release it */
	bool is_in_kernel;
	bool was_refused;           /* the kernel had no room for it; was counted */
	bool is_too_big;            /* it will never fit: evicting others would not help */
	struct unwind_table *table; /* owned; NULL once it is in the kernel */
	struct table_slot slot;     /* its place in the kernel */
	uint64_t base;              /* base of the table */
	struct held_rules rules;    /* rules of the table */
	uint64_t hash;              /* hash of the table */
	size_t bytes;
	uint64_t used_ns; /* last time that a stack contained one of its files */
};

struct shared_tables_stats {
	uint64_t nr_shared;  /* times that an equal table existed already */
	uint64_t nr_evicted; /* times that a table was evicted to make room */
	uint64_t nr_refused; /* tables for which the kernel had no room when they were ready */
	uint64_t nr_short;   /* tables without room for all of their rules */
	uint64_t peak_bytes; /* of all tables together */
};

struct shared_tables {
	struct tables *kernel; /* borrowed; NULL: tables are kept here only */
	struct shared_rules rules;
	struct shared_table **all; /* owned, with its items; without evicted ones */
	uint32_t nr, cap;
	size_t bytes; /* of all tables, here and in the kernel */
	size_t max_bytes;
	bool needs_room;  /* the kernel refused a table */
	bool needs_rules; /* the dictionary refused some rules */
	struct shared_tables_stats stats;
};

int shared_tables_init(struct shared_tables *s, struct tables *kernel, size_t max_bytes);
void shared_tables_done(struct shared_tables *s); /* every file must have released its table */

/* Adds the result of compiling a file; dict: its rules. Takes the table, even if it fails. The file
 * uses the returned table. -ENOMEM. */
int shared_tables_add(struct shared_tables *s, struct unwind_table *t, const struct rule_dict *dict,
		      struct shared_table **ret_table);

/* For another number of the same file, which uses the table, too. */
struct shared_table *shared_tables_hold(struct shared_table *t);

/* Called when a file releases its table. */
void shared_tables_let_go(struct shared_tables *s, struct shared_table *t);

/* Copies the table to the kernel, unless it is there already; returns whether it is there now. */
bool shared_tables_send(struct shared_tables *s, struct shared_table *t);

/* Evicts tables until all fit below the limit, and those that can be compiled better now; returns
 * whether any was evicted. *ret_is_named: some were in the kernel, and every list that refers to
 * them must be replaced now. */
bool shared_tables_trim(struct shared_tables *s, bool *ret_is_named);

/* The rule for a link-time address. */
pa_rule shared_table_rule(const struct shared_tables *s, const struct shared_table *t,
			  uint64_t addr);

#endif
