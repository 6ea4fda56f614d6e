// SPDX-License-Identifier: Apache-2.0
/* The library that plt.c calls. */
#include <stdint.h>

uint64_t plt_target(uint64_t x);

uint64_t plt_target(uint64_t x)
{
	return x + 1;
}
