// SPDX-License-Identifier: Apache-2.0
/*
 * storm_child LIFE_MS [FD]: compiled once per VARIANT, so that each copy has a build-id and function
 * names of its own. Writes one byte to FD as soon as it runs, burns LIFE_MS of CPU time, exits.
 * Without frame pointers. Truth: main → storm_fn_<VARIANT> → storm_leaf_<VARIANT>.
 */
#include "prog.h"

#define STEPS_PER_LOOK 20000
#define FRAME_BYTES ((VARIANT + 1) * 64) /* another one's unwind table would be wrong */
#define JOIN(a, b) a##b
#define NAME(prefix, nr) JOIN(prefix, nr)
#define STORM_FN NAME(storm_fn_, VARIANT)
#define STORM_LEAF NAME(storm_leaf_, VARIANT)

NOINLINE static uint64_t STORM_LEAF(uint64_t x)
{
	volatile char room[FRAME_BYTES];

	room[x % FRAME_BYTES] = (char)x;
	return burn_steps(x + VARIANT, STEPS_PER_LOOK) + (uint64_t)room[0];
}

NOINLINE static uint64_t STORM_FN(uint64_t life_ns)
{
	volatile char room[FRAME_BYTES];
	uint64_t x = 1;

	room[life_ns % FRAME_BYTES] = 1;
	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < life_ns)
		x = STORM_LEAF(x);
	return x + (uint64_t)room[0];
}

int main(int argc, char **argv)
{
	uint64_t life_ns = arg_number(argc, argv, 1, 5) * NS_PER_MS;

	if (argc > 2 && write((int)arg_number(argc, argv, 2, 0), "r", 1) != 1)
		return 1;
	return STORM_FN(life_ns) == 0;
}
