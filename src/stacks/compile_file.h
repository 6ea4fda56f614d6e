/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles one file into one unwind table, with what else walks must know of the file. Stateless,
 * any thread. */
#ifndef STACKS_COMPILE_FILE_H
#define STACKS_COMPILE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "elf/elf_image.h"
#include "proc/filestore.h"
#include "unwind/rule_dict.h"
#include "unwind/table.h"

/* Functions without a caller: the entry of a program, Go's outermost functions. */
#define COMPILED_MAX_ROOTS 8

struct code_range {
	uint64_t start, end; /* link-time */
};

struct compiled_file {
	struct unwind_table *table; /* owned; NULL: the file has none, or cannot be read */
	struct elf_segment
		*loads; /* owned; executable segments, by which addresses are converted */
	uint32_t nr_loads;
	struct code_range roots[COMPILED_MAX_ROOTS]; /* where a stack begins */
	uint32_t nr_roots;
	bool has_own_stack; /* GHC's code, which uses rbp as the pointer of its own stack */
	bool was_changed;   /* it was written to meanwhile, so there is no table */
	enum work_end end;  /* why it was abandoned, so there is no table */
	bool needs_another; /* its own CFI is insufficient: the place where it is found matters */
};

#define COMPILE_MAX_CPU_NS (2 * NS_PER_S) /* per file; libnode, 60 MB, takes 0.1 s */

/* f is read through its descriptor; rules go into dict. On failure there is no table. debug_fd: its
 * separate debug file, for a file with insufficient CFI; -1: none. cancel: NULL, never cancelled. */
void compile_file(const struct file *f, int debug_fd, const struct cancel *cancel,
		  struct rule_dict *dict, struct compiled_file *ret_file);

/* The same for this process's own vDSO, which every process has. */
void compile_vdso(struct rule_dict *dict, struct compiled_file *ret_file);

/* The same for CPython's trampolines. */
struct trampoline;
void compile_trampolines(const struct trampoline *t, struct rule_dict *dict,
			 struct compiled_file *ret_file);

void compiled_file_done(struct compiled_file *f);

#endif
