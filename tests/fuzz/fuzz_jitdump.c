/* SPDX-License-Identifier: Apache-2.0 */
#include "jit_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = jit_file(data, size);
	struct jit_address addrs[NR_ADDRESSES];
	struct jit_sources src = {
		.map_fd = -1, .dump_fd = fd, .addresses = addrs, .nr_addresses = NR_ADDRESSES
	};
	struct jit_counts counts = { 0 };

	if (fd < 0)
		return 0;
	for (uint64_t i = 0; i < NR_ADDRESSES; i++)
		addrs[i] = (struct jit_address){ 0x1000 + i * 8, i * 2 };
	jit_resolve(&src, &counts);
	if (counts.nr_dump_bad_records > counts.nr_dump_records)
		abort();
	close(fd);
	return 0;
}
