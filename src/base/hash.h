/* SPDX-License-Identifier: Apache-2.0 */
/* The project's only hash function (XXH3). Hashes are never shown; they are stored only in caches, which are
 * rebuilt if the function changes. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *bytes, size_t n);

/* For tables of texts that others choose, such as names of functions: without an unknown seed they
 * could construct any number of texts with the same hash. */
uint64_t hash_bytes_seeded(uint64_t seed, const void *bytes, size_t n);

/* A random number. salt: any address of the caller's. */
uint64_t hash_new_seed(const void *salt);

static inline uint64_t hash_mix(uint64_t h, uint64_t v)
{
	h ^= v;
	h *= 0x9fb21c651e98df25ull; /* an odd constant with well-spread bits */
	return h ^ (h >> 29);
}

#endif
