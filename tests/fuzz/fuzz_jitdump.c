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
	int fd = memfd_create("dump", MFD_CLOEXEC);
	struct jit_address addrs[NR_ADDRESSES];
	struct jit_sources src = {
		.map_fd = -1, .dump_fd = fd, .addresses = addrs, .nr_addresses = NR_ADDRESSES
	};
	struct jit_counts counts = { 0 };
	struct symbolizer *s;
	struct symbol_result r;

	for (uint64_t i = 0; i < NR_ADDRESSES; i++)
		addrs[i] = (struct jit_address){ 0x1000 + i * 8, i * 2 };
	if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
	    symbolizer_new_jit(&src, &counts, &s) < 0)
		goto out;
	for (uint64_t i = 0; i < NR_ADDRESSES; i++)
		if (s->ops->resolve(s, addrs[i].addr, &r) == 0 && !r.frames[0].name[0])
			abort(); /* an address without any name */
	if (counts.nr_dump_bad_records > counts.nr_dump_records)
		abort();
	symbolizer_free(s);
out:
	if (fd >= 0)
		close(fd);
	return 0;
}
