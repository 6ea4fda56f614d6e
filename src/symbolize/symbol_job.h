/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolving the addresses of one source of symbols, as a job: descriptors and plain values in, plain
 * bytes out (symbol_reply.h). Running it touches nothing else: no paths, no processes, no locks, so any
 * process that has the descriptors can run it.
 *
 * Which .dwo files are needed is known only while the debug information is read. The run then stops and
 * names the file; whoever started it decides whether to open that file, and the run goes on.
 */
#ifndef SYMBOLIZE_SYMBOL_JOB_H
#define SYMBOLIZE_SYMBOL_JOB_H

#include "base/buf.h"
#include "symbolize/symbolizer_jit.h"

enum symbol_job_kind {
	SYMBOL_JOB_RAW,  /* nothing is known about the code */
	SYMBOL_JOB_FILE, /* an ELF file */
	SYMBOL_JOB_VDSO, /* this process's own vDSO, which every process has */
	SYMBOL_JOB_JIT,  /* generated code */
};

struct symbol_item {
	uint64_t address; /* in the process */
	uint64_t offset;  /* in the file or the vDSO; not used for other kinds */
	uint64_t version; /* see struct jit_address; 0: none */
};

/* All pointers and descriptors are borrowed until the run has ended. */
struct symbol_job {
	enum symbol_job_kind kind;
	const struct symbol_item *items;
	uint32_t nr_items;

	/* A file. */
	int fd, debug_fd, alt_fd; /* see struct elf_sources; -1: none */
	bool has_split_files;     /* may ask for .dwo and .dwp files */
	uint64_t symbols_cpu_ns;  /* limit of CPU time for symbols; 0: only the default limits */
	/* limit of CPU time for debug information; 0: only the default limits */
	uint64_t lines_cpu_ns;
	const char *label; /* see struct elf_sources */

	/* Generated code. */
	struct jit_symbol_files symbol_files[JIT_MAX_ORIGINS];
	uint32_t nr_symbol_files;
	struct jit_address *addresses; /* sorted by the run */
	uint32_t nr_addresses;
};

#define SYMBOL_JOB(of_kind)                                                                        \
	((struct symbol_job){ .kind = (of_kind), .fd = -1, .debug_fd = -1, .alt_fd = -1 })

/* Each may be NULL: never cancelled. */
struct symbol_job_cancel {
	const struct cancel *reading; /* stops reading files: what was not read has no symbols */
	const struct cancel *lines;   /* stops reading lines: what was not read has symbols only */
	const struct cancel *all;     /* stops the job: -ECANCELED */
};

struct symbol_run;

/* Reads the symbols. Symbols that do not fit into memory, are over a limit, or are not read because
 * `reading` was cancelled, are replaced by raw addresses, and the reply says why. -ENOMEM: no
 * memory even for that; -ECANCELED: by `all`; others: the file cannot be used (-ENOEXEC, -EBADMSG,
 * …). */
int symbol_run_new(const struct symbol_job *job, const struct symbol_job_cancel *cancel,
		   struct symbol_run **ret_run);

/* As symbol_run_new(), with another symbolizer, which the run owns even if this fails; kind is
 * SYMBOL_JOB_RAW. */
int symbol_run_new_by(struct symbolizer *s, const struct symbol_job *job,
		      const struct symbol_job_cancel *cancel, struct symbol_run **ret_run);

struct symbol_run *symbol_run_free(struct symbol_run *run);
DEFINE_CLEANUP(struct symbol_run *, symbol_run_free)

/* Resolves the addresses. 0: ret_bytes, which is empty before, has the reply. -EAGAIN: ret_bytes
 * has the path of a file, with its NUL (see dwarf_needed_path()); if it is empty, the .dwp is
 * needed. Answer with symbol_run_supply() and call it again. -ENOMEM, -E2BIG: no room for the
 * reply; -ECANCELED: by `all`. */
int symbol_run_step(struct symbol_run *run, struct buf *ret_bytes);

/* The run owns fd from now on; negative: the file is not available. */
void symbol_run_supply(struct symbol_run *run, int fd);

#endif
