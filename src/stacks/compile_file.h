/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles one file into one unwind table, and collects what else walks need to know about the
 * file. Stateless; may be called by any thread. */
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
	struct code_range roots[COMPILED_MAX_ROOTS]; /* functions without a caller */
	uint32_t nr_roots;
	bool has_own_stack; /* GHC's code, which uses rbp as the pointer of its own stack */
	bool was_changed;   /* it was written to while it was read, so there is no table */
	enum work_end end;  /* why compiling was abandoned, if so; there is no table then */
	/* its own CFI is insufficient: the result depends on where the file is found */
	bool needs_another;
};

#define COMPILE_MAX_CPU_NS (2 * NS_PER_S) /* per file; libnode, 60 MB, takes 0.1 s */

/* f is read through its descriptor; rules are added to dict. If it fails there is no table.
 * debug_fd: the separate debug file of a file with insufficient CFI; -1: none. cancel: NULL: never
 * cancelled. */
void compile_file(const struct file *f, int debug_fd, const struct cancel *cancel,
		  struct rule_dict *dict, struct compiled_file *ret_file);

/* As compile_file(), for this process's own vDSO, which every process has. */
void compile_vdso(struct rule_dict *dict, struct compiled_file *ret_file);

/* As compile_file(), for CPython's trampolines. */
struct trampoline;
void compile_trampolines(const struct trampoline *t, struct rule_dict *dict,
			 struct compiled_file *ret_file);

void compiled_file_done(struct compiled_file *f);

#endif
