/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table that Go's runtime walks stacks by: for every function its name, and how far the stack
 * pointer is from where it was at the function's entry, pc by pc. Every Go program has it, a stripped
 * one too.
 * Versions 1.18 and newer; the layout is in the comments of src/internal/abi/symtab.go and
 * src/runtime/symtab.go of Go. Bytes in, values out.
 */
#ifndef ELF_GO_TABLE_H
#define ELF_GO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"

#define GO_MAX_FUNCS (4u << 20)
#define GO_HEADER_BYTES 72
#define GO_HEADER_TEXT_AT 24
#define GO_FUNC_TAB_ENTRY_BYTES 8 /* offset of the code, offset of the entry */

enum go_func_flag {
	GO_TOP_FRAME = 1, /* the outermost function of a stack */
	GO_SP_WRITE = 2,  /* changes the stack pointer in ways that the table does not show */
	GO_ASM = 4,       /* not of the compiler */
};

/* Where things are. Addresses of code are offsets from a start that is not always in the table. */
struct go_table {
	const uint8_t *bytes; /* borrowed, as is all that is read from them */
	size_t size;
	uint64_t addr; /* link-time, of the table; 0: not told */
	uint32_t nr_funcs;
	uint64_t names, units, files, deltas, funcs; /* offsets of the parts */
	uint32_t flags_at; /* of the byte with the flags in a function's entry */
	uint64_t text;     /* link-time address that code counts from; 0: not told */
	uint8_t quantum;   /* bytes of the smallest instruction: deltas count in them */
};

struct go_func {
	uint32_t start, end; /* of its code, up to the next function's */
	uint32_t deltas;     /* 0: none */
	uint8_t flags;
	int32_t name; /* where it is; see go_func_name() */
	/* Tables like that of deltas; 0: none. */
	uint32_t files, lines;
	uint32_t inlined;    /* the number of the call that was inlined there; -1: none */
	uint32_t calls;      /* offset of these calls from go.func.*; UINT32_MAX: none */
	uint32_t unit;       /* where the files of its package begin */
	uint32_t start_line; /* 0: not known, as before 1.20 */
};

/* Whether a table may begin with these 8 bytes. */
bool go_table_is_begin(const void *bytes);

/* Of a table with so many bytes the first n alone; nothing but its numbers is read. The errors of
 * go_table_open(). */
int go_table_read_header(const void *bytes, size_t n, uint64_t size, struct go_table *ret_table);

/* -ENOENT: not such a table, or one of another version; -EBADMSG. */
int go_table_open(const void *bytes, size_t size, struct go_table *ret_table);

/* -EBADMSG. */
int go_table_func(const struct go_table *t, uint32_t i, struct go_func *ret_func);

/* The function whose code has this offset. -ENOENT. */
int go_table_find(const struct go_table *t, uint64_t offset, struct go_func *ret_func);

/* A call that was inlined, as go.func.* has it: 16 bytes as of 1.20. */
#define GO_CALL_BYTES 16
struct go_call {
	int32_t name;        /* as that of a function */
	int32_t call_offset; /* of an instruction at the call, from the start of the function */
	uint32_t start_line;
};
struct go_call go_call_read(const uint8_t bytes[GO_CALL_BYTES]);

/* NULL: there is none, or it is too long to be believed. */
const char *go_file_name(const struct go_table *t, const struct go_func *f, int64_t file);

/* NULL: damaged, or too long to be believed. */
const char *go_name_at(const struct go_table *t, int32_t name);
const char *go_func_name(const struct go_table *t, const struct go_func *f);

/* Pairs of numbers: by how much a value, which begins as -1, changes, and for how many instructions of
 * the smallest size it holds. 1: there is one; 0: no more; -EBADMSG. */
struct go_values {
	struct cursor c;
	uint64_t func_end;
	uint64_t start, end; /* of the code with this value */
	int64_t value;
	uint8_t quantum;
	bool is_first;
};
struct go_values go_values_of(const struct go_table *t, const struct go_func *f, uint32_t table);
int go_values_next(struct go_values *v);

/* Runs through the pieces of a function's code: from start to end the stack pointer is `delta` below
 * where it was at the entry. */
struct go_deltas {
	struct go_values v;
	uint64_t start, end;
	int64_t delta;
};
struct go_deltas go_deltas_of(const struct go_table *t, const struct go_func *f);
/* 1: there is one; 0: no more; -EBADMSG. */
int go_deltas_next(struct go_deltas *d);

#endif
