/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of a mapping's symbols, as seen by the agent. Preparing it finds and opens the files
 * that may be needed, which takes processes, roots, paths and locks. The result is a job
 * (symbol_job.h), which needs none of these. One file per kind of mapping.
 */
#ifndef NAMES_SOURCE_H
#define NAMES_SOURCE_H

#include "debugfiles/debug_files.h"
#include "names/naming_budget.h"
#include "names/naming_job.h"
#include "names/naming_owners.h"
#include "symbolize/symbol_job.h"
#include "symbolize/symbol_reply.h"
#include "symbolize/symbolizer_elf.h"

/* The most descriptors that one source holds: the perf maps and jitdumps of a process and its
 * ancestors. A file, its debug files and one .dwo file are fewer. */
#define SOURCE_MAX_FDS (2 * JIT_MAX_ORIGINS)

struct elf_image;

struct source {
	struct symbol_job
		job; /* the caller sets the items; descriptors are those below, or owned */
	/* The kernel's symbols, whose list the agent reads itself; owned; NULL: the job contains
	 * everything. */
	struct symbolizer *symbolizer;
	/* why addresses have no symbol; if `why` is NULL, the reply has the reason */
	struct naming_note note;
	bool is_fallback;    /* a better source could not be used */
	bool is_replaced;    /* replaced by raw addresses for lack of memory */
	bool is_interrupted; /* … because it was cancelled */

	/* A file. */
	struct file file;         /* a copy, whose descriptor is owned; -1: none */
	struct elf_image *image;  /* owned */
	struct debug_set debug;   /* owned */
	struct debug_query query; /* where .dwo files are searched; borrowed from the store */
	uint32_t nr_split_files;  /* number of files that the job asked for */

	/* Limits. */
	const struct cancel *cancel;       /* borrowed; NULL: never cancelled */
	const struct cancel *lines_cancel; /* as cancel, for reading lines */
	struct naming_owners *owners;      /* borrowed; NULL: CPU time is not shared */
	/* deadline for symbols, on the thread's CPU clock; 0: only the default limits */
	uint64_t cpu_end_ns;
	bool is_foreign; /* the file's owner is not trusted, see foreign.h: */
	uint32_t root;   /* the root and user that its CPU time is charged to */
	uid_t user;
	struct naming_budget *budget; /* borrowed; NULL: memory is not shared */
	uint64_t held_bytes;          /* taken from the budget */
	uint64_t waited_ns;           /* time spent waiting for the budget */
};

#define SOURCE_NONE                                                                                \
	((struct source){ .job = SYMBOL_JOB(SYMBOL_JOB_RAW),                                       \
			  .file.fd = -1,                                                           \
			  .debug.debug.fd = -1,                                                    \
			  .debug.alt.fd = -1 })

void source_done(struct source *s);

/* Prepares the source for a mapping (NULL: for addresses in no mapping). A file that cannot be
 * opened gives raw addresses, and a note says why. s is SOURCE_NONE, possibly with limits. Waits
 * until the memory that the job may need is available. May be called by any thread, but by one at a
 * time for the kernel, and for the generated code of one process. -ENOMEM, -E2BIG, -ECANCELED. */
int source_prepare(struct naming_job *job, const struct profile_mapping *m, struct source *s);

/* Runs the job, opens the .dwo files that it asks for, and reads its reply. If the file cannot be
 * used, runs again for raw addresses. -ENOMEM, -E2BIG: no room for the reply; -ECANCELED. */
int source_resolve(struct source *s, const struct symbol_job_cancel *cancel,
		   struct symbol_reply *ret_reply);

/* Replaces the source by raw addresses, and closes all files. Both texts are static; advice may be
 * NULL. */
void source_make_raw(struct source *s, const char *why, const char *advice);

/* Why addresses have no symbol, after a reply. */
struct naming_note source_note(const struct source *s, const struct symbol_reply_head *head);

/* True if the error affects only symbols that did not fit into memory or a limit. */
bool source_is_about_size(int r);

/* Orders mappings so that those with the same source are adjacent; 0: the same source. */
int source_compare(const struct profile_mapping *a, const struct profile_mapping *b);

/* True if the file with the kernel's line numbers is not installed, but may be fetched by
 * *ret_id. */
bool source_lacks_kernel_file(struct naming_job *job, struct build_id *ret_id);

/* For source.c only: the kinds of sources, and what they share. */
void source_hold(struct source *s,
		 const struct elf_sources *src); /* waits for the memory to read it */
int source_prepare_file(struct naming_job *job, const struct profile_mapping *m, struct source *s);
/* After the job has run: true if the file could not be read, or was changed during the run; the
 * source gives raw addresses then. */
bool source_drop_file(struct source *s, int r);
int source_prepare_vdso(struct source *s);
int source_prepare_kernel(struct naming_job *job, struct source *s);
int source_prepare_jit(struct naming_job *job, const struct profile_mapping *m, struct source *s);
struct naming_note source_jit_note(const struct source *s, const struct jit_counts *counts);

#endif
