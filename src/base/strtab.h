/* SPDX-License-Identifier: Apache-2.0 */
/* Interned strings, each stored once and identified by a number. Number 0 is the empty string. */
#ifndef BASE_STRTAB_H
#define BASE_STRTAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/idtable.h"

#define STRTAB_MAX_BYTES (1u << 31)

struct strtab {
	char **chunks; /* owned: fixed-size blocks, so that strings never move */
	uint32_t nr_chunks;
	uint32_t cap_chunks;
	size_t chunk_used; /* bytes used in the last chunk */
	size_t chunk_size; /* size of the last chunk */
	size_t total_bytes;
	const char **strings; /* owned array; each points into a chunk */
	uint32_t nr_strings;
	uint32_t cap_strings;
	struct idtable index;
	uint64_t seed; /* seed for hashes */
};

int strtab_init(struct strtab *t);
void strtab_done(struct strtab *t);

/* len bytes of s, not NUL-terminated; bytes after an embedded NUL are dropped. */
int strtab_intern_n(struct strtab *t, const char *s, size_t len, uint32_t *ret_id);
int strtab_intern(struct strtab *t, const char *s, uint32_t *ret_id);

/* The string is borrowed until strtab_done(), and never moves. */
const char *strtab_get(const struct strtab *t, uint32_t id);

#endif
