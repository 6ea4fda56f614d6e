/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <sys/random.h>

#include "base/clock.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash_bytes(const void *bytes, size_t n)
{
	return XXH3_64bits(bytes, n);
}

uint64_t hash_bytes_seeded(uint64_t seed, const void *bytes, size_t n)
{
	return XXH3_64bits_withSeed(bytes, n, seed);
}

uint64_t hash_new_seed(const void *salt)
{
	uint64_t seed;

	/* Early in boot there may be no random bytes yet: uses the clock and an address of ours. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = hash_mix(clock_mono_ns(), (uintptr_t)salt);
	return seed;
}
