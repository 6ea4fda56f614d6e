/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the sources of symbols only. */
#ifndef SYMBOLIZE_SYMBOLIZE_INTERNAL_H
#define SYMBOLIZE_SYMBOLIZE_INTERNAL_H

#include "base/idtable.h"
#include "base/strtab.h"
#include "elf/elf_symbols.h"
#include "symbolize/symbolizer.h"
#include "symbolize/symbolizer_elf.h"

struct elf_image;

/* The single frame of a source without inline chains, and the strings it created. */
struct answer {
	struct strtab strings;
	struct symbol_frame frame;
	struct answer_name *names; /* owned; those requested so far */
	uint32_t nr_names, cap_names;
	struct idtable name_index;
};

int answer_init(struct answer *a);
void answer_done(struct answer *a);

/* A symbol's name; its first symbol_bytes are demangled if mangled, the rest (the name of a module)
 * is kept. `symbol` must live as long as the answer. */
int answer_named(struct answer *a, const char *symbol, size_t symbol_bytes,
		 struct symbol_result *ret_result);

/* How much of a symbol may be mangled: all but PLT_SUFFIX. */
size_t answer_symbol_bytes(const char *symbol);

/* The readable name: demangled, or `symbol` itself. `symbol` must live as long as the answer, and
 * not change: it is identified by its address. */
int answer_readable(struct answer *a, const char *symbol, const char **ret_name);

/* "<scope>::<name>", with the first mangled_bytes of the scope demangled. `name` must live as long
 * as the answer: it is used alone if scope and name together are too long. */
int answer_scoped(struct answer *a, const char *scope, size_t mangled_bytes, const char *name,
		  const char **ret_name);

/* "<label without .so…>+0x<offset>", or "0x<offset>" if label is NULL; counts as unresolved. */
int answer_raw(struct answer *a, const char *label, uint64_t offset,
	       struct symbol_result *ret_result);

/* Lines and inline chains of a file; symbol: from its symbol table for the address, or NULL. The
 * frames are valid until the next call. */
struct elf_lines;

/* Negative: there is no usable debug information, and *ret_why has the reason, if any. */
int elf_lines_new(const struct elf_sources *src, uint64_t max_bytes, struct answer *names,
		  struct elf_lines **ret_lines, enum symbol_why *ret_why);
/* True if lines are missing because of a limit, not because of malformed data. */
bool elf_lines_is_over(const struct elf_lines *l);
struct elf_lines *elf_lines_free(struct elf_lines *l);
uint64_t elf_lines_cost_bytes(const struct elf_sources *src);

/* -ENOENT: nothing is known; -EAGAIN: a split file is needed first, see below; -ENOMEM. The last frame
 * has no name if neither DWARF nor `symbol` has one. */
int elf_lines_resolve(struct elf_lines *l, uint64_t addr, const char *symbol,
		      struct symbol_result *ret_result);

/* See dwarf_needed_path() and dwarf_supply(). */
const char *elf_lines_needed_path(const struct elf_lines *l);
void elf_lines_supply(struct elf_lines *l, int fd);

/* What is missing so far, and why. */
enum symbol_why elf_lines_why(const struct elf_lines *l);

/* A range of code and its symbol. Ranges never overlap. */
struct symtab_piece {
	uint64_t start;
	uint32_t bytes;
	uint32_t name; /* offset in names */
};

/* The code symbols of an image, ready for binary search. */
struct symtab_index {
	struct symtab_piece *pieces; /* owned; sorted by start */
	uint32_t nr_pieces;
	uint32_t cap_pieces;
	char *names; /* owned */
	uint64_t names_bytes;
};

enum symtab_state {
	SYMTAB_OK,
	SYMTAB_NONE,      /* the image has no symbol table at all */
	SYMTAB_DAMAGED,   /* some of it could not be read */
	SYMTAB_TOO_LARGE, /* over the limits: the rest is left out */
};

/* Symbols of an image, from one of the places where it may have some: elf_symbols_each() and those
 * below, with its results. */
typedef int (*symbols_each_fn)(const struct elf_image *img, elf_symbol_fn fn, void *ctx);

/* From the table of Go's runtime. */
int go_names_each(const struct elf_image *img, elf_symbol_fn fn, void *ctx);
uint64_t go_names_cost_bytes(const struct elf_image *img);

/* Lines from the same table, which is held meanwhile. -ENOENT: there is none; -ENOMEM, and others
 * that mean the same as -ENOENT. The image is borrowed. */
struct go_lines;
int go_lines_new(const struct elf_image *img, const struct cancel *cancel,
		 struct go_lines **ret_lines);
/* True if some are left out because of their cost. */
bool go_lines_is_over(const struct go_lines *l);
struct go_lines *go_lines_free(struct go_lines *l);
DEFINE_CLEANUP(struct go_lines *, go_lines_free)
/* Adds files, lines and inlined functions to a result of one frame. */
void go_lines_add(struct go_lines *l, uint64_t addr, struct symbol_result *result);

/* Symbols of PLT stubs; each name ends with PLT_SUFFIX. IRELATIVE stubs have no symbol, but the
 * address of their resolver, as objdump writes it: PLT_CHOSEN, hexadecimal digits, PLT_SUFFIX. */
#define PLT_SUFFIX "@plt"
#define PLT_CHOSEN "*ABS*+0x"
int plt_names_each(const struct elf_image *img, elf_symbol_fn fn, void *ctx);
uint64_t plt_names_cost_bytes(const struct elf_image *img);

/* A partly built index may be passed to symtab_index_done(). -ENOMEM. */
int symtab_index_init(struct symtab_index *idx, const struct elf_image *img, symbols_each_fn each,
		      enum symtab_state *ret_state);
void symtab_index_done(struct symtab_index *idx);

struct symtab_hit {
	const char *name;    /* borrowed until symtab_index_done() */
	uint64_t start;      /* of a label: its address */
	bool is_label;       /* the symbol has no size: it may end before the address */
	bool is_local_label; /* and may lie inside a function */
};

/* False: no symbol covers the address. */
bool symtab_index_find(const struct symtab_index *idx, uint64_t addr, struct symtab_hit *ret_hit);

#endif
