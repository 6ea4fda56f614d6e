/* SPDX-License-Identifier: Apache-2.0 */
#include "jit_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = jit_file(data, size);
	struct jit_address addrs[NR_ADDRESSES];
	struct jit_sources src = { .symbol_files = { JIT_SYMBOL_FILES(fd, -1) },
				   .nr_symbol_files = 1,
				   .addresses = addrs,
				   .nr_addresses = NR_ADDRESSES };
	struct jit_counts counts = { 0 };

	if (fd < 0)
		return 0;
	for (uint64_t i = 0; i < NR_ADDRESSES; i++)
		addrs[i] = (struct jit_address){ .addr = i < 32 ? i * 8 : 0x7f0000000000 + i * 64 };
	jit_resolve(&src, &counts);
	if (counts.nr_map_bad_lines > counts.nr_map_lines)
		abort();
	close(fd);
	return 0;
}
