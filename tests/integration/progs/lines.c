/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines SECONDS: all time is spent in stir(), which is inlined into fold(), which is inlined into
 * hot(). The test reads the numbers of the lines that say where from this very file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define INLINE static inline __attribute__((always_inline))

static volatile unsigned int seed = 1;

INLINE unsigned int stir(unsigned int v) /* stir() begins here */
{
	for (int i = 0; i < 64; i++)
		v = (v ^ (v >> 3)) * 2654435761u + (unsigned int)i; /* stirred here */
	return v;
}

INLINE unsigned int fold(unsigned int v) /* fold() begins here */
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < 4096; i++)
		sum += stir(v + i); /* stir() called here */
	return sum;
}

__attribute__((noinline)) static unsigned int hot(unsigned int v) /* hot() begins here */
{
	return fold(v); /* fold() called here */
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double end = now_s() + (argc > 1 ? strtod(argv[1], NULL) : 10);
	unsigned int sum = 0;

	while (now_s() < end)
		sum += hot(seed);
	printf("%u\n", sum);
	return 0;
}
