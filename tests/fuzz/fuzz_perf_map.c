/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/symbolizer.h"

#define NR_ADDRESSES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("map", MFD_CLOEXEC);
	struct jit_address addrs[NR_ADDRESSES];
	struct jit_sources src = {
		.map_fd = fd, .dump_fd = -1, .addresses = addrs, .nr_addresses = NR_ADDRESSES
	};
	struct jit_counts counts = { 0 };
	struct symbolizer *s;
	struct symbol_result r;

	for (uint64_t i = 0; i < NR_ADDRESSES; i++)
		addrs[i] = (struct jit_address){ .addr = i < 32 ? i * 8 : 0x7f0000000000 + i * 64 };
	if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
	    symbolizer_new_jit(&src, &counts, &s) < 0)
		goto out;
	for (uint64_t i = 0; i < NR_ADDRESSES; i++)
		if (s->ops->resolve(s, addrs[i].addr, &r) == 0 && !r.frames[0].name[0])
			abort(); /* an address without any name */
	if (counts.nr_map_bad_lines > counts.nr_map_lines)
		abort();
	symbolizer_free(s);
out:
	if (fd >= 0)
		close(fd);
	return 0;
}
