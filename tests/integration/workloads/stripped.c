// SPDX-License-Identifier: Apache-2.0
// stripped SECONDS: on the CPU for so long. Truth: main → stripped_outer → stripped_inner, into which
// stripped_inlined is inlined.
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#ifndef WHICH
#define WHICH 0 // makes another build of it
#endif
#define NOINLINE __attribute__((noinline, noclone, noipa))

static inline __attribute__((always_inline)) uint64_t stripped_inlined(uint64_t x)
{
	x ^= x >> 31;             // inlined line
	x *= 0x9fb21c651e98df25u; // inlined line
	return x ^ (x >> 29);     // inlined line
}

NOINLINE static uint64_t stripped_inner(uint64_t x)
{
	for (int i = 0; i < 100000; i++)
		x = stripped_inlined(x + 1); // call line
	return x;
}

NOINLINE static uint64_t stripped_outer(uint64_t x, time_t end)
{
	while (time(NULL) < end)
		x += stripped_inner(x); // outer line
	return x;
}

int main(int argc, char **argv)
{
	return stripped_outer((uint64_t)argc + WHICH,
			      time(NULL) + atoi(argc > 1 ? argv[1] : "1")) == 0;
}
