/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the readers of perf maps and jitdumps. Both read a file that its writer may change at
 * any time: what is read twice must be checked twice. */
#ifndef SYMBOLIZE_JIT_INTERNAL_H
#define SYMBOLIZE_JIT_INTERNAL_H

#include "base/strtab.h"
#include "symbolize/jit_name.h"
#include "symbolize/symbolizer_jit.h"

#define JIT_READ_BYTES (256u << 10)
#define JIT_MAX_NAME_BYTES 4096 /* for one text; longer ones are truncated */

/* A file read through a window; it is never mapped, because its writer can truncate it. */
struct jit_reader {
	int fd;         /* borrowed */
	uint8_t *bytes; /* owned; JIT_READ_BYTES */
	uint64_t start; /* position of the window in the file */
	size_t len;
	const struct cancel
		*cancel;    /* borrowed; checked before each read: the file then ends there */
	uint64_t max_bytes; /* of the file; the rest is ignored */
	size_t read_bytes;  /* read-ahead: large for sequential access, small for random access */
};

#define JIT_READ_HERE_AND_THERE_BYTES (8u << 10)

int jit_reader_init(struct jit_reader *r, int fd, const struct cancel *cancel); /* -ENOMEM */
void jit_reader_done(struct jit_reader *r);

/* want (at most JIT_READ_BYTES) bytes of the file, or as many as there are. Valid until the next
 * call. */
const uint8_t *jit_reader_get(struct jit_reader *r, uint64_t offset, size_t want, size_t *ret_got);

/* The result for one address; numbers of strings. */
struct jit_found {
	uint32_t name; /* 0: not found */
	uint32_t system_name;
	uint32_t filename;
	uint32_t line, start_line;
};

/* Addresses, sorted, each once per version. */
struct jit_list {
	uint64_t *addrs;    /* owned */
	uint64_t *times_ns; /* owned; see struct jit_address, like the next */
	uint64_t *versions; /* owned */
	uint32_t nr;
};

/* Sorts all. -ENOMEM; call jit_list_done() in any case. */
int jit_list_init(struct jit_list *l, struct jit_address *all, uint32_t nr);
void jit_list_done(struct jit_list *l);
uint32_t jit_list_find(const struct jit_list *l, uint64_t addr, uint64_t version); /* UINT32_MAX */

/* The addresses to be resolved; results go to found[] of the same index. */
struct jit_task {
	const struct jit_list *list;
	uint64_t until_ns; /* see struct jit_symbol_files */
	bool has_versions; /* the dump is the one that versions refer to */
	struct jit_found *found;
	struct strtab *strings;
	struct jit_counts *counts;
	uint64_t max_bytes;          /* of the file being read */
	const struct cancel *cancel; /* NULL: never cancelled */
};

/* Stores the name that the text contains. -ENOMEM, -E2BIG. */
int jit_found_set(const struct jit_task *t, uint32_t i, const char *text, size_t len,
		  bool *ret_is_v8);

/* Both functions keep earlier results. -ENOMEM, -E2BIG; -EBADMSG: not such a file. */
int perf_map_read(int fd, const struct jit_task *t);
int jitdump_read(int fd, const struct jit_task *t);

#endif
