/* SPDX-License-Identifier: Apache-2.0 */
/* One file into one unwind table, and what else walks must know of the file. No state, any thread. */
#ifndef AGENT_COMPILE_FILE_H
#define AGENT_COMPILE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "elf/elf_image.h"
#include "proc/filestore.h"
#include "unwind/rule_dict.h"
#include "unwind/table.h"

/* Functions that nobody called: the entry of a program, Go's ends of a stack. */
#define COMPILED_MAX_ROOTS 8

struct code_range {
	uint64_t start, end; /* link-time */
};

struct debug_query;

struct compiled_file {
	struct unwind_table *table; /* owned; NULL: the file has none, or cannot be read */
	struct elf_segment
		*loads; /* owned; executable segments, by which addresses are converted */
	uint32_t nr_loads;
	struct code_range roots[COMPILED_MAX_ROOTS]; /* where a stack begins */
	uint32_t nr_roots;
	bool has_own_stack; /* GHC's code, which has the stack pointer of its own stack in rbp */
	bool was_changed;   /* it was written to meanwhile, so there is no table */
	enum work_end end;  /* why it was given up, so there is no table either */
	bool needs_another; /* it says too little itself: where it is found counts as well */
};

#define COMPILE_MAX_CPU_NS (2 * NS_PER_S) /* of one file; libnode, 60 MB, takes 0.1 s */

/* f is read through its descriptor; rules go into dict. What fails leaves the table out. where: its
 * debug file may be (debug_search_query()), for a file that says too little itself. cancel: NULL, nobody
 * cancels. */
void compile_file(const struct file *f, const struct debug_query *where,
		  const struct cancel *cancel, struct rule_dict *dict,
		  struct compiled_file *ret_file);

/* The same of this process's own vDSO, which every process has. */
void compile_vdso(struct rule_dict *dict, struct compiled_file *ret_file);

/* The same of CPython's trampolines. */
struct trampoline;
void compile_trampolines(const struct trampoline *t, struct rule_dict *dict,
			 struct compiled_file *ret_file);

void compiled_file_done(struct compiled_file *f);

#endif
