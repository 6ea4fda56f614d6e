/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines and inline chains out of DWARF 2 to 5: an address in, the functions there out, innermost
 * first. Reads what it is asked about, unit by unit, and keeps the units it has used last within a
 * budget. Not for types, variables or unwinding. Every byte is untrusted. One thread at a time.
 */
#ifndef DWARF_DWARF_H
#define DWARF_DWARF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/cleanup.h"

/* What one reader holds at most: two thirds for sections that must be held whole. */
#define DWARF_MAX_BYTES (512ull << 20)
/* A last resort: work is bounded in bytes, and so the same on every machine. */
#define DWARF_MAX_CPU_NS 6000000000ull

#define DWARF_MAX_FRAMES 256 /* at one address; of longer chains the middle is left out */

struct elf_image;
struct elf_opener;
struct dwarf;

/* All are borrowed until dwarf_free(). */
struct dwarf_files {
	const struct elf_image *image;   /* the code */
	const struct elf_image *debug;   /* where .debug_info is; may be the same */
	const struct elf_image *alt;     /* what dwz moved out of it; NULL: none */
	const struct elf_opener *opener; /* for .dwo and .dwp files; NULL: not looked for */
	const struct cancel *cancel;     /* NULL: nobody cancels */
	uint64_t max_bytes;              /* of memory; 0: DWARF_MAX_BYTES */
	uint64_t max_cpu_ns;             /* of this thread; 0: DWARF_MAX_CPU_NS */
};

/* Strings are owned by the reader until it is freed. */
struct dwarf_frame {
	const char *name; /* NULL: no function is known there */
	const char *path; /* of the source; NULL: not known */
	uint32_t line;    /* 0: not known */
	uint32_t start_line;
	bool is_linkage_name; /* the name is the symbol's, mangled where the language mangles */
	/* The namespaces, types and functions around a C++ function that has only a short name, such
	 * as "shop::till", or "_Z4worki::{lambda:17}": the first scope_mangled_bytes are the linkage
	 * name of a function. NULL: none, or not known. */
	const char *scope;
	uint32_t scope_mangled_bytes;
};

/* What could not be read, for a report. */
struct dwarf_losses {
	bool is_over_budget; /* sections that would not fit in memory, or too much work */
	bool is_damaged;
	bool is_interrupted;       /* by a cancellation */
	uint32_t nr_split_missing; /* .dwo files that could not be opened or are others */
};

/* Makes the index of units. -ENOENT: no .debug_info; -E2BIG: larger than the limits; -EBADMSG;
 * -ECANCELED. */
int dwarf_open(const struct dwarf_files *files, struct dwarf **ret_dwarf);

struct dwarf *dwarf_free(struct dwarf *d);
DEFINE_CLEANUP(struct dwarf *, dwarf_free)

/*
 * The functions at a link-time address, innermost first; at least one. The last may have no name,
 * when only lines are known. frames: DWARF_MAX_FRAMES of them. -ENOENT: nothing is known there;
 * -ENOMEM is the only other failure. What is damaged counts as not known, and after a cancellation
 * all that was not decoded before.
 */
int dwarf_resolve(struct dwarf *d, uint64_t addr, struct dwarf_frame *frames, uint32_t *ret_nr);

const struct dwarf_losses *dwarf_losses(const struct dwarf *d);

/* About how many bytes a reader of these files may come to hold; of .dwo files, which are not known
 * before, as many as the cache may hold. Costs next to nothing. */
uint64_t dwarf_cost_bytes(const struct dwarf_files *files);

/* Bytes that the reader holds now, for benchmarks. */
uint64_t dwarf_held_bytes(const struct dwarf *d);

#endif
