/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of generated code, by what a perf map and a jitdump contain. */
#ifndef JIT_NAMED_H
#define JIT_NAMED_H

#include <errno.h>

#include "jit_maker.h"

static struct jit_counts counts;

static inline struct symbolizer *named_by(int map_fd, int dump_fd, struct jit_address *addrs,
					  uint32_t nr)
{
	struct jit_sources src = { .symbol_files = { JIT_SYMBOL_FILES(map_fd, dump_fd) },
				   .nr_symbol_files = 1,
				   .addresses = addrs,
				   .nr_addresses = nr };
	struct symbolizer *s = NULL;

	counts = (struct jit_counts){ 0 };
	must(symbolizer_new_jit(&src, &counts, &s) == 0);
	if (map_fd >= 0)
		close(map_fd);
	if (dump_fd >= 0)
		close(dump_fd);
	return s;
}

/* "name|file|line" */
static inline const char *at(struct symbolizer *s, uint64_t addr)
{
	static char text[8192];
	struct symbol_result r;

	must(s->ops->resolve(s, addr, &r) == 0 && r.nr_frames == 1);
	must(r.is_named == (strncmp(r.frames[0].name, "0x", 2) != 0));
	snprintf(text, sizeof(text), "%s|%s|%u", r.frames[0].name,
		 r.frames[0].filename ? r.frames[0].filename : "", r.frames[0].line);
	return text;
}

static inline bool is(struct symbolizer *s, uint64_t addr, const char *expected)
{
	const char *found = at(s, addr);

	if (strcmp(found, expected) != 0)
		printf("# 0x%" PRIx64 " is %s, not %s\n", addr, found, expected);
	return strcmp(found, expected) == 0;
}

/* The addresses from 0x1000 on, 16 apart. */
static inline struct symbolizer *map_of(const char *text)
{
	struct jit_address addrs[256];

	for (uint32_t i = 0; i < 256; i++)
		addrs[255 - i] = (struct jit_address){ .addr = 0x1000 + i * 16 };
	return named_by(jit_file(text, strlen(text)), -1, addrs, 256);
}

static inline struct symbolizer *dump_of(const struct dump_maker *d, struct jit_address *addrs,
					 uint32_t nr)
{
	return named_by(-1, jit_file(d->bytes, d->len), addrs, nr);
}

#endif
