/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of perf maps and jitdumps share. Both read a file that its writer may change at
 * any moment: what is read twice is checked twice. */
#ifndef SYMBOLIZE_JIT_INTERNAL_H
#define SYMBOLIZE_JIT_INTERNAL_H

#include "base/strtab.h"
#include "symbolize/jit_name.h"
#include "symbolize/symbolizer.h"

#define JIT_READ_BYTES (256u << 10)
#define JIT_MAX_NAME_BYTES 4096 /* of one text; the rest of a longer one is cut */

/* A file through a window, for none of it may be mapped: its writer can cut it short. */
struct jit_reader {
	int fd;         /* borrowed */
	uint8_t *bytes; /* owned; JIT_READ_BYTES */
	uint64_t start; /* where in the file the window is */
	size_t len;
	const struct cancel
		*cancel;    /* borrowed; asked before each read: the file then ends there */
	uint64_t max_bytes; /* of the file; what comes behind is not there */
	size_t read_bytes; /* that are read ahead: many for one after the other, few for here and there */
};

#define JIT_READ_HERE_AND_THERE_BYTES (8u << 10)

int jit_reader_init(struct jit_reader *r, int fd, const struct cancel *cancel); /* -ENOMEM */
void jit_reader_done(struct jit_reader *r);

/* want (at most JIT_READ_BYTES) bytes of the file, or as many as there are. Valid until the next
 * call. */
const uint8_t *jit_reader_get(struct jit_reader *r, uint64_t offset, size_t want, size_t *ret_got);

/* What is known of one address; numbers of strings. */
struct jit_found {
	uint32_t name; /* 0: nothing */
	uint32_t system_name;
	uint32_t filename;
	uint32_t line, start_line;
};

/* Addresses, sorted, each once per version. */
struct jit_list {
	uint64_t *addrs;    /* owned */
	uint64_t *times_ns; /* owned; see struct jit_address, as the next */
	uint64_t *versions; /* owned */
	uint32_t nr;
};

/* Sorts all. -ENOMEM; jit_list_done() is due all the same. */
int jit_list_init(struct jit_list *l, struct jit_address *all, uint32_t nr);
void jit_list_done(struct jit_list *l);
uint32_t jit_list_find(const struct jit_list *l, uint64_t addr, uint64_t version); /* UINT32_MAX */

/* The addresses to be named; what is found goes to found[] of the same index. */
struct jit_task {
	const struct jit_list *list;
	uint64_t until_ns; /* see struct jit_told */
	bool has_versions; /* the dump is that which versions are numbers of */
	struct jit_found *found;
	struct strtab *strings;
	struct jit_counts *counts;
	uint64_t max_bytes;          /* of the list that is read */
	const struct cancel *cancel; /* NULL: nobody cancels */
};

/* Fills in what the text says. -ENOMEM, -E2BIG. */
int jit_found_set(const struct jit_task *t, uint32_t i, const char *text, size_t len,
		  bool *ret_is_v8);

/* Both leave alone what has been found before. -ENOMEM, -E2BIG; -EBADMSG: not such a file. */
int perf_map_read(int fd, const struct jit_task *t);
int jitdump_read(int fd, const struct jit_task *t);

#endif
