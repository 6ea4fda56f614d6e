/* SPDX-License-Identifier: Apache-2.0 */
/* What the targets for perf maps and for jitdumps share. */
#ifndef FUZZ_JIT_TARGET_H
#define FUZZ_JIT_TARGET_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/symbolizer.h"
#include "symbolize/symbolizer_jit.h"

#define NR_ADDRESSES 64

static void jit_resolve(const struct jit_sources *src, struct jit_counts *counts)
{
	struct symbolizer *s;
	struct symbol_result r;

	if (symbolizer_new_jit(src, counts, &s) < 0)
		return;
	for (uint32_t i = 0; i < src->nr_addresses; i++) {
		const struct jit_address *a = &src->addresses[i];

		if (s->ops->resolve_version(s, a->addr, a->version, &r) == 0 &&
		    !r.frames[0].name[0])
			abort(); /* an address without any name */
	}
	symbolizer_free(s);
}

/* The input as a file; -1: there is none. */
static int jit_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, data, size) != (ssize_t)size) {
		close(fd);
		return -1;
	}
	return fd;
}

#endif
