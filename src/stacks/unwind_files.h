/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that targets map, and their unwind tables. A worker compiles tables on demand,
 * beginning with those that most walks wait for. A file's own CFI applies in every root and under
 * every path; what a separate debug file adds applies only where that debug file was found.
 *
 * Used by the session's thread, except the worker inside.
 */
#ifndef STACKS_UNWIND_FILES_H
#define STACKS_UNWIND_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "proc/tracker.h"
#include "stacks/shared_tables.h"
#include "stacks/table_worker.h"
#include "unwind/trampoline.h"

struct log;

enum unwind_state {
	UNWIND_NOT_ASKED, /* never requested, or evicted after a long time */
	UNWIND_ASKED,
	UNWIND_COMPILING,
	UNWIND_READY,
	UNWIND_NONE, /* the file has no CFI, or cannot be read */
};

struct unwind_file {
	enum unwind_state state;
	bool was_compiled;
	uint32_t nr_waiting; /* requests while the state is ASKED */
	/* by content: number + 1 of the file whose result serves all paths; 0: none */
	uint32_t common;
	struct compiled_file made;  /* the result of compiling, without the table */
	struct shared_table *table; /* if READY */
};

/* What was left out of files that were compiled for the first time; see struct unwind_stats. */
struct unwind_dropped {
	uint64_t nr_bad, nr_outside, nr_user, nr_refused;
};

struct unwind_files_stats {
	uint64_t nr_compiled;   /* files, each counted once */
	uint64_t nr_recompiled; /* times that a file was compiled again */
	struct shared_tables_stats tables;
	struct unwind_dropped dropped;
};

struct unwind_files {
	const struct filestore *store; /* borrowed */
	const struct log *log;         /* borrowed */
	struct table_worker *worker;   /* owned */
	struct shared_tables tables;
	struct unwind_file *
		*files; /* owned, with its items; by number in the store; NULL: not requested */
	uint32_t nr, cap;
	struct unwind_file vdso;
	struct unwind_file trampolines[NR_TRAMPOLINES];
	uint32_t nr_asked; /* files in state ASKED */
	uint64_t nr_news;  /* tables that became ready or were evicted */
	uint64_t nr_compiled, nr_recompiled;
	struct unwind_dropped dropped;
	uint64_t began_ns; /* to limit the share of CPU time that compiling may use */
};

struct unwind_files_config {
	const struct filestore *store; /* borrowed, like the others */
	struct tables *tables;         /* NULL: tables are kept here only */
	const struct log *log;
	size_t max_bytes;            /* limit for tables */
	bool is_inline;              /* no thread: compile when submitted */
	const struct cancel *cancel; /* for compiling; NULL: never cancelled */
};
int unwind_files_init(struct unwind_files *u, const struct unwind_files_config *cfg);
void unwind_files_done(struct unwind_files *u);

/* The state of a mapping's file. NULL if the code has no file, or out of memory. */
struct unwind_file *unwind_files_get(struct unwind_files *u, const struct mapping *m);
uint32_t unwind_files_number(const struct mapping *m); /* the number of such a file */

/* To be called when a walk needs the file: returns whether it is known if it has a table (READY or
 * NONE); if not, its table is requested. */
bool unwind_files_ask(struct unwind_files *u, const struct mapping *m);
bool unwind_files_is_awaited(const struct unwind_files *u, uint32_t number);

/* Takes what the worker has finished. */
void unwind_files_take(struct unwind_files *u);
/* Submits what was requested. */
void unwind_files_give(struct unwind_files *u);
/* Waits until the worker has finished something, and takes that. False: there is nothing to do, it
 * was cancelled, or the worker has used that much CPU time in total. */
bool unwind_files_wait(struct unwind_files *u, uint64_t max_cpu_ns);

/* CPU time used by compiling so far. */
uint64_t unwind_files_cpu_ns(const struct unwind_files *u);

/* Why the file is not compiled, if a limit is the reason; the file's number is that of the store.
 * 0: no limit. */
enum work_end unwind_files_end(const struct unwind_files *u, uint32_t number);

/* To be called when the store releases the file: forgets it. False: its table is being compiled. */
bool unwind_files_forget(struct unwind_files *u, uint32_t number);

/* To be called when a stack contains the file. */
void unwind_files_use(struct unwind_files *u, const struct mapping *m, uint64_t time_ns);

/* Evicts tables until all fit below the limit, and those that can be compiled better now. True:
 * some were in the kernel, and every list of mappings that refers to them must be replaced now. */
bool unwind_files_trim(struct unwind_files *u);

/* True if a frame at that address, which lies in m, has no caller although no rule says so. */
bool unwind_file_is_root(const struct unwind_file *f, const struct mapping *m, uint64_t addr);

/* Run-time address - bias = link-time address, for the code that m maps. -ENOENT. */
int unwind_file_bias(const struct unwind_file *f, const struct mapping *m, uint64_t *ret_bias);

struct unwind_files_stats unwind_files_stats(const struct unwind_files *u);

#endif
