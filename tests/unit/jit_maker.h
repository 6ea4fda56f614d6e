/* SPDX-License-Identifier: Apache-2.0 */
/* Perf maps and jitdumps of our own making, and what is named with them. */
#ifndef TESTS_UNIT_JIT_MAKER_H
#define TESTS_UNIT_JIT_MAKER_H

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/symbolizer_jit.h"
#include "tap.h"

static inline int jit_file(const void *bytes, size_t n)
{
	int fd = memfd_create("jit", MFD_CLOEXEC);

	must(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
	return fd;
}

struct dump_maker {
	unsigned char bytes[65536];
	size_t len;
};

static inline void dump_put(struct dump_maker *d, const void *bytes, size_t n)
{
	must(d->len + n <= sizeof(d->bytes));
	memcpy(d->bytes + d->len, bytes, n);
	d->len += n;
}

static inline void dump_u32(struct dump_maker *d, uint32_t v)
{
	dump_put(d, &v, sizeof(v));
}

static inline void dump_u64(struct dump_maker *d, uint64_t v)
{
	dump_put(d, &v, sizeof(v));
}

static inline void dump_init(struct dump_maker *d, uint64_t flags)
{
	static const uint32_t head[] = { 0x4a695444, 1, 40, 62, 0, 1234 };

	d->len = 0;
	dump_put(d, head, sizeof(head));
	dump_u64(d, 0);
	dump_u64(d, flags);
}

static inline void dump_head(struct dump_maker *d, uint32_t id, size_t body, uint64_t time_ns)
{
	dump_u32(d, id);
	dump_u32(d, (uint32_t)(16 + body));
	dump_u64(d, time_ns);
}

/* Eight bytes of "code" behind the name. */
static inline void dump_load(struct dump_maker *d, uint64_t time_ns, uint64_t start, uint64_t size,
			     uint64_t index, const char *name)
{
	dump_head(d, 0, 40 + strlen(name) + 1 + 8, time_ns);
	dump_u64(d, 0);
	dump_u64(d, start);
	dump_u64(d, start);
	dump_u64(d, size);
	dump_u64(d, index);
	dump_put(d, name, strlen(name) + 1);
	dump_u64(d, 0x9090909090909090);
}

static inline void dump_move(struct dump_maker *d, uint64_t time_ns, uint64_t from, uint64_t to,
			     uint64_t size, uint64_t index)
{
	dump_head(d, 1, 48, time_ns);
	dump_u64(d, 0);
	dump_u64(d, to);
	dump_u64(d, from);
	dump_u64(d, to);
	dump_u64(d, size);
	dump_u64(d, index);
}

struct dump_line {
	uint64_t addr;
	uint32_t line;
	const char *file;
};

static inline void dump_lines(struct dump_maker *d, uint64_t start, const struct dump_line *lines,
			      size_t nr)
{
	size_t body = 16;

	for (size_t i = 0; i < nr; i++)
		body += 16 + strlen(lines[i].file) + 1;
	dump_head(d, 2, body, 0);
	dump_u64(d, start);
	dump_u64(d, nr);
	for (size_t i = 0; i < nr; i++) {
		dump_u64(d, lines[i].addr);
		dump_u32(d, lines[i].line);
		dump_u32(d, 0);
		dump_put(d, lines[i].file, strlen(lines[i].file) + 1);
	}
}

#endif
