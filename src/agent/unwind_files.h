/* SPDX-License-Identifier: Apache-2.0 */
/* The unwind tables of the files that targets map: each compiled once, when it is first asked for. */
#ifndef AGENT_UNWIND_FILES_H
#define AGENT_UNWIND_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/tables.h"
#include "elf/elf_image.h"
#include "proc/tracker.h"
#include "unwind/rule_dict.h"
#include "unwind/table.h"

struct log;

enum unwind_state {
	UNWIND_NOT_ASKED, /* nobody has needed it so far */
	UNWIND_READY,
	UNWIND_NONE, /* the file has no call frame information, or cannot be read */
};

/* Functions that nobody called: the entry of a program, Go's ends of a stack. */
#define UNWIND_MAX_ROOTS 8

struct code_range {
	uint64_t start, end;
};

struct unwind_file {
	enum unwind_state state;
	struct unwind_table *table; /* owned */
	struct elf_segment
		*loads; /* owned; executable segments, by which addresses are converted */
	uint32_t nr_loads;
	struct code_range roots[UNWIND_MAX_ROOTS]; /* where a stack begins; link-time */
	uint32_t nr_roots;
	bool is_in_kernel;
	struct table_slot slot; /* when it is in the kernel */
};

struct unwind_files {
	const struct filestore *store; /* borrowed */
	const struct log *log;         /* borrowed */
	struct rule_dict dict;
	struct unwind_file *files; /* owned; by number in the store */
	uint32_t nr, cap;
	struct unwind_file vdso;
	uint64_t nr_compiled;
};

int unwind_files_init(struct unwind_files *u, const struct filestore *store, const struct log *log);
void unwind_files_done(struct unwind_files *u);

/* What is known of a mapping's file; with `compile`, after having made sure of it. NULL: code
 * without a file, or no memory. */
struct unwind_file *unwind_files_get(struct unwind_files *u, const struct mapping *m, bool compile);

/* Whether a frame at that address, which lies in m, has no caller although no rule says so. */
bool unwind_file_is_root(const struct unwind_file *f, const struct mapping *m, uint64_t addr);

/* Run-time address - bias = link-time address, for the code that m maps. -ENOENT. */
int unwind_file_bias(const struct unwind_file *f, const struct mapping *m, uint64_t *ret_bias);

#endif
