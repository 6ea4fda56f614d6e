/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/map_reader.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define BATCH 4096 /* elements per system call: more than a bucket has */

static int give_elements(const uint64_t *keys, const char *values, size_t value_size, uint32_t nr,
			 map_element_fn fn, void *ctx)
{
	int r = 0;

	for (uint32_t i = 0; i < nr && r >= 0; i++)
		r = fn(ctx, keys[i], values + i * value_size);
	return r < 0 ? r : 0;
}

int map_read(int map_fd, size_t value_size, map_element_fn fn, void *ctx)
{
	_cleanup_(freep) uint64_t *keys = calloc(BATCH, sizeof(*keys));
	_cleanup_(freep) char *values = calloc(BATCH, value_size);
	__u64 at = 0;
	bool is_first = true, is_last = false;

	if (!keys || !values)
		return -ENOMEM;
	while (!is_last) {
		__u32 nr = BATCH;
		int r = bpf_map_lookup_batch(map_fd, is_first ? NULL : &at, &at, keys, values, &nr,
					     NULL);

		is_last = r == -ENOENT;
		if (r == 0 || is_last)
			r = give_elements(keys, values, value_size, nr, fn, ctx);
		if (r < 0)
			return r;
		is_first = false;
	}
	return 0;
}
