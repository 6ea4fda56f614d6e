/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that targets map, and which unwind table each has: compiled by a worker when somebody
 * needs it, those first that most walks wait for. What a file itself says holds in every root and
 * under every path; what a separate debug file adds holds only where that was found.
 *
 * Of the session's thread, but for the worker inside.
 */
#ifndef AGENT_UNWIND_FILES_H
#define AGENT_UNWIND_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/shared_tables.h"
#include "agent/table_worker.h"
#include "proc/tracker.h"
#include "proc/trampoline.h"

struct log;

enum unwind_state {
	UNWIND_NOT_ASKED, /* nobody has needed it so far, or for so long that it was dropped */
	UNWIND_ASKED,
	UNWIND_COMPILING,
	UNWIND_READY,
	UNWIND_NONE, /* the file has no call frame information, or cannot be read */
};

struct unwind_file {
	enum unwind_state state;
	bool was_compiled;
	uint32_t nr_waiting;        /* times that it was asked for while ASKED */
	uint32_t common;            /* of a content: one more than the number whose outcome holds
				     * for all that have it; 0: none */
	struct compiled_file made;  /* without the table */
	struct shared_table *table; /* while it is READY */
};

struct unwind_files_stats {
	uint64_t nr_compiled;   /* files, each once */
	uint64_t nr_recompiled; /* times that one was compiled again */
	struct shared_tables_stats tables;
};

struct unwind_files {
	const struct filestore *store; /* borrowed */
	const struct log *log;         /* borrowed */
	struct table_worker *worker;   /* owned */
	struct shared_tables tables;
	struct unwind_file *
		*files; /* owned, each; by number in the store; NULL: nothing is known */
	uint32_t nr, cap;
	struct unwind_file vdso;
	struct unwind_file trampolines[NR_TRAMPOLINES];
	uint32_t nr_asked; /* files in that state */
	uint64_t nr_news;  /* tables that became ready or went */
	uint64_t nr_compiled, nr_recompiled;
	uint64_t began_ns; /* for the share of CPU time that compiling may take */
};

struct unwind_files_config {
	const struct filestore *store; /* borrowed, as the others */
	struct tables *tables;         /* NULL: tables stay here */
	const struct log *log;
	size_t max_bytes;            /* of tables */
	bool is_inline;              /* no thread: compile where it is asked for */
	const struct cancel *cancel; /* of compiling; NULL: nobody cancels */
};
int unwind_files_init(struct unwind_files *u, const struct unwind_files_config *cfg);
void unwind_files_done(struct unwind_files *u);

/* What is known of a mapping's file. NULL: code without a file, or no memory. */
struct unwind_file *unwind_files_get(struct unwind_files *u, const struct mapping *m);
uint32_t unwind_files_number(const struct mapping *m); /* of such a file */

/* A walk needs it: whether it is known if there is a table (READY or NONE); if not, it will be. */
bool unwind_files_ask(struct unwind_files *u, const struct mapping *m);
bool unwind_files_is_awaited(const struct unwind_files *u, uint32_t number);

/* Takes what the worker has finished. */
void unwind_files_take(struct unwind_files *u);
/* Gives it what was asked for. */
void unwind_files_give(struct unwind_files *u);
/* Waits until the worker has finished something, and takes that; false: nothing is to be done, it was
 * cancelled, or the worker has used that much CPU time in all. */
bool unwind_files_wait(struct unwind_files *u, uint64_t max_cpu_ns);

/* CPU time that compiling has taken so far. */
uint64_t unwind_files_cpu_ns(const struct unwind_files *u);

/* The file is not compiled because that would cost too much; in the order of the store. 0: it is not
 * one of them. */
enum work_end unwind_files_end(const struct unwind_files *u, uint32_t number);

/* The store gives the file back: nothing is known of it any more. False: its table is on its way. */
bool unwind_files_forget(struct unwind_files *u, uint32_t number);

/* A stack shows the file. */
void unwind_files_use(struct unwind_files *u, const struct mapping *m, uint64_t time_ns);

/* Drops tables until all fit below the limit, and those that can be had better now. True: some were
 * in the kernel, and every list of mappings that names them must be replaced now. */
bool unwind_files_trim(struct unwind_files *u);

/* Whether a frame at that address, which lies in m, has no caller although no rule says so. */
bool unwind_file_is_root(const struct unwind_file *f, const struct mapping *m, uint64_t addr);

/* Run-time address - bias = link-time address, for the code that m maps. -ENOENT. */
int unwind_file_bias(const struct unwind_file *f, const struct mapping *m, uint64_t *ret_bias);

struct unwind_files_stats unwind_files_stats(const struct unwind_files *u);

#endif
