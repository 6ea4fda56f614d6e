/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind tables of the files that targets map: compiled by a worker when somebody needs them,
 * those that most walks wait for first; kept in the kernel or, until they are there, here; and all
 * together below a limit, over which those go that no stack has shown for the longest time.
 *
 * Of the session's thread, but for the worker inside.
 */
#ifndef AGENT_UNWIND_FILES_H
#define AGENT_UNWIND_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/shared_rules.h"
#include "agent/table_worker.h"
#include "collect/tables.h"
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
	bool is_in_kernel;
	bool was_refused; /* the kernel had no room for it; counted */
	bool was_compiled;
	uint32_t nr_waiting;       /* times that it was asked for while ASKED */
	struct compiled_file made; /* the table is NULL once it is in the kernel, or was dropped */
	struct held_rules rules;   /* the table's */
	struct table_slot slot;    /* when it is in the kernel */
	uint64_t base;             /* the table's */
	size_t bytes;              /* the table's; 0 while there is none */
	uint64_t used_ns;          /* the last time that a stack showed the file */
};

struct unwind_files_stats {
	uint64_t nr_compiled;   /* files, each once */
	uint64_t nr_recompiled; /* times that one was compiled again */
	uint64_t nr_evicted;    /* times that one was dropped to make room */
	uint64_t nr_refused;    /* tables that the kernel had no room for when they were ready */
	uint64_t
		nr_short; /* tables that were ready when there was no room for all of their rules */
	uint64_t peak_bytes; /* of all tables */
};

struct unwind_files {
	const struct filestore *store; /* borrowed */
	struct tables *tables;         /* borrowed; NULL: tables stay here */
	const struct log *log;         /* borrowed */
	struct table_worker *worker;   /* owned */
	struct shared_rules rules;
	struct unwind_file *files; /* owned; by number in the store */
	uint32_t nr, cap;
	struct unwind_file vdso;
	struct unwind_file trampolines[NR_TRAMPOLINES];
	uint32_t nr_asked; /* files in that state */
	size_t bytes;      /* of all tables, here and in the kernel */
	size_t max_bytes;
	bool needs_room;  /* the kernel refused one */
	bool needs_rules; /* the dictionary refused some of one's */
	uint64_t nr_news; /* tables that became ready or went */
	struct unwind_files_stats stats;
};

struct unwind_files_config {
	const struct filestore *store; /* borrowed, as the others */
	struct tables *tables;
	const struct log *log;
	size_t max_bytes; /* of tables */
	bool is_inline;   /* no thread: compile where it is asked for */
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
/* Waits until the worker has finished something, and takes that; false: nothing is to be done. */
bool unwind_files_wait(struct unwind_files *u);

/* A stack shows the file. */
void unwind_files_use(struct unwind_files *u, const struct mapping *m, uint64_t time_ns);

/* Puts a table that is READY into the kernel, unless it is there; whether it is now. */
bool unwind_files_send(struct unwind_files *u, struct unwind_file *f);

/* Once per turn: what tables that were dropped a while ago have left is free. True: so is room in the
 * kernel. */
bool unwind_files_age(struct unwind_files *u);

/* Drops tables until all fit below the limit, and those that can be had better now. True: some were in the kernel, and every list of
 * mappings that names them must be replaced now. */
bool unwind_files_trim(struct unwind_files *u);

/* The rule for a link-time address of a file that is READY. */
pa_rule unwind_file_rule(const struct unwind_files *u, const struct unwind_file *f, uint64_t addr);

/* Whether a frame at that address, which lies in m, has no caller although no rule says so. */
bool unwind_file_is_root(const struct unwind_file *f, const struct mapping *m, uint64_t addr);

/* Run-time address - bias = link-time address, for the code that m maps. -ENOENT. */
int unwind_file_bias(const struct unwind_file *f, const struct mapping *m, uint64_t *ret_bias);

#endif
