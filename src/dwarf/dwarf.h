/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines and inline chains from DWARF 2 to 5: maps an address to the functions there, innermost
 * first. Decodes units on demand and caches recently used ones within a budget. Not for types,
 * variables or unwinding. All bytes are untrusted. Used by one thread at a time.
 */
#ifndef DWARF_DWARF_H
#define DWARF_DWARF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/cleanup.h"

/* Memory limit of one reader; two thirds are for sections that must be held whole. */
#define DWARF_MAX_BYTES (512ull << 20)
/* A last resort: work is normally limited in bytes, which is the same on every machine. */
#define DWARF_MAX_CPU_NS 6000000000ull

#define DWARF_MAX_FRAMES 256 /* per address; longer chains lose their middle */

struct elf_image;
struct dwarf;

/* All are borrowed until dwarf_free(). */
struct dwarf_files {
	const struct elf_image *image; /* the code */
	const struct elf_image *debug; /* the file with .debug_info; may be the same */
	const struct elf_image *alt;   /* the file into which dwz moved common parts; NULL: none */
	bool has_split_files;          /* dwarf_resolve() may ask for .dwo and .dwp files */
	const struct cancel *cancel;   /* NULL: never cancelled */
	uint64_t max_bytes;            /* of memory; 0: DWARF_MAX_BYTES */
	uint64_t max_cpu_ns;           /* of this thread; 0: DWARF_MAX_CPU_NS */
};

/* Strings are owned by the reader until it is freed. */
struct dwarf_frame {
	const char *name; /* NULL: no function is known there */
	const char *path; /* of the source; NULL: unknown */
	uint32_t line;    /* 0: unknown */
	uint32_t start_line;
	bool is_linkage_name; /* the name is the symbol's name, mangled if the language mangles */
	/* The scopes of a C++ function that has only a short name: namespaces, types and functions,
	 * such as "shop::till", or "_Z4worki::{lambda:17}", in which the first scope_mangled_bytes
	 * are a linkage name. NULL: none, or unknown. */
	const char *scope;
	uint32_t scope_mangled_bytes;
};

/* What could not be read, for the report. */
struct dwarf_losses {
	bool is_over_budget; /* sections that would not fit into memory, or too much work */
	bool is_damaged;
	bool is_interrupted;       /* by cancellation */
	uint32_t nr_split_missing; /* .dwo files that could not be opened or do not match */
};

/* Builds the index of units, as far as that needs no split file. -ENOENT: no .debug_info; -E2BIG:
 * over the limits; -EBADMSG; -ECANCELED. */
int dwarf_open(const struct dwarf_files *files, struct dwarf **ret_dwarf);

struct dwarf *dwarf_free(struct dwarf *d);
DEFINE_CLEANUP(struct dwarf *, dwarf_free)

/*
 * The functions at a link-time address, innermost first; at least one. The last may have no name if
 * only lines are known. frames has room for DWARF_MAX_FRAMES. -ENOENT: nothing is known there;
 * -EAGAIN: a split file is needed first, see below; -ENOMEM is the only other failure. Malformed
 * data counts as unknown; so does, after a cancellation, everything not yet decoded.
 */
int dwarf_resolve(struct dwarf *d, uint64_t addr, struct dwarf_frame *frames, uint32_t *ret_nr);

/*
 * The reader opens no files. After -EAGAIN it needs one that the debug information refers to: the path
 * as given there, absolute or relative to the compilation directory, or NULL for the .dwp beside the
 * program. The path is as untrusted as the file that contains it. dwarf_supply() answers with a
 * descriptor, which the reader then owns, or a negative number if there is none; then the same
 * address is resolved again.
 */
const char *dwarf_needed_path(const struct dwarf *d);
void dwarf_supply(struct dwarf *d, int fd);

const struct dwarf_losses *dwarf_losses(const struct dwarf *d);

/* An estimate of the memory that a reader of these files may need; .dwo files, which are unknown in
 * advance, count with the maximum size of the cache. Cheap. */
uint64_t dwarf_estimate_bytes(const struct dwarf_files *files);

/* Bytes held now, for benchmarks. */
uint64_t dwarf_held_bytes(const struct dwarf *d);

#endif
