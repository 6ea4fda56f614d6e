/* SPDX-License-Identifier: Apache-2.0 */
/* Reads all elements of a hash map in the kernel whose keys are 64-bit numbers. */
#ifndef COLLECT_MAP_READER_H
#define COLLECT_MAP_READER_H

#include <stddef.h>
#include <stdint.h>

typedef int (*map_element_fn)(void *ctx, uint64_t key, const void *value);

/* The map must not change while it is read. Ends early with fn's result if that is negative. */
int map_read(int map_fd, size_t value_size, map_element_fn fn, void *ctx);

#endif
