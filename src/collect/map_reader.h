/* SPDX-License-Identifier: Apache-2.0 */
/* All elements of a hash in the kernel whose keys are 64-bit numbers. */
#ifndef COLLECT_MAP_READER_H
#define COLLECT_MAP_READER_H

#include <stddef.h>
#include <stdint.h>

typedef int (*map_element_fn)(void *ctx, uint64_t key, const void *value);

/* Nothing changes the map meanwhile. Ends early with fn's result when that is negative. */
int map_read(int map_fd, size_t value_size, map_element_fn fn, void *ctx);

#endif
