/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps addresses to names: the interface of every source of symbols. One symbolizer resolves the
 * code of one file (symbolizer_elf.h), of the kernel (symbolizer_kernel.h) or of one process's JIT
 * (symbolizer_jit.h); it does not know the model. All strings are its own until it is freed.
 */
#ifndef SYMBOLIZE_SYMBOLIZER_H
#define SYMBOLIZE_SYMBOLIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "symbolize/symbol_why.h"

/* One function at an address; an inline chain is several, innermost first. */
struct symbol_frame {
	const char *name;        /* demangled if it was mangled */
	const char *system_name; /* as in the symbol table */
	const char *filename;    /* NULL: unknown */
	uint32_t line;           /* 0: unknown */
	uint32_t start_line;     /* 0: unknown */
};

struct symbol_result {
	const struct symbol_frame *frames; /* at least one */
	uint32_t nr_frames;
	/* The name came from a symbol. Otherwise it is "<file>+0x<start of the FDE>" or "0x…". */
	bool is_named;
	bool is_raw;    /* it is "0x…" */
	bool is_reused; /* unresolved because different code was loaded there at different times */
};

struct symbolizer;

/* Implemented by every source of symbols. */
struct symbolizer_ops {
	/* addr is an address of the source: a link-time address for files, the run-time address for
	 * the kernel. Always gives a result, however little is known; -ENOMEM; -EAGAIN: for files
	 * only, see symbolizer_elf_needed_path(). The result is valid until the next call. */
	int (*resolve)(struct symbolizer *s, uint64_t addr, struct symbol_result *ret_result);
	/* As resolve(), for code that was replaced; NULL: not supported. */
	int (*resolve_version)(struct symbolizer *s, uint64_t addr, uint64_t version,
			       struct symbol_result *ret_result);
	void (*free)(struct symbolizer *s);
};

struct symbolizer {
	const struct symbolizer_ops *ops;
	enum symbol_why missing; /* why symbols are missing, for the report */
	enum symbol_why lines;   /* why existing debug information gave no lines, or not all */
	enum symbol_why limit;   /* what was left out because of its cost */
};

static inline struct symbolizer *symbolizer_free(struct symbolizer *s)
{
	if (s)
		s->ops->free(s);
	return NULL;
}
DEFINE_CLEANUP(struct symbolizer *, symbolizer_free)

/* For unknown code: gives only "0x…" names. */
int symbolizer_new_raw(struct symbolizer **ret_symbolizer);
bool symbolizer_is_raw(const struct symbolizer *s);

#endif
