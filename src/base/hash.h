/* SPDX-License-Identifier: Apache-2.0 */
/* The one hash function of the project (XXH3, seeded by nothing: never shown, and stored only in
 * caches, which are made anew where it differs). */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *bytes, size_t n);

static inline uint64_t hash_mix(uint64_t h, uint64_t v)
{
	h ^= v;
	h *= 0x9fb21c651e98df25ull; /* an odd constant with well-spread bits */
	return h ^ (h >> 29);
}

#endif
