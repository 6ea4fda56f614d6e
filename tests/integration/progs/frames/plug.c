// SPDX-License-Identifier: Apache-2.0
/* A library that dlopened.c opens and closes: PLUG is its name, FRAME_BYTES the size of its frame.
 * Both functions of one variant lie elsewhere than those of the other. */
#include "frames.h"

#define NAME2(plug, what) plug##_##what
#define NAME(plug, what) NAME2(plug, what)

uint64_t plug_enter(uint64_t x, unsigned int turns);

NOINLINE static uint64_t NAME(PLUG, burn)(uint64_t x, unsigned int turns)
{
	volatile char room[FRAME_BYTES];

	room[x % FRAME_BYTES] = (char)x;
	while (turns--)
		x = burn_steps(x, STEPS_LONG);
	return x + (uint64_t)room[0];
}

NOINLINE static uint64_t NAME(PLUG, hold)(uint64_t x, unsigned int turns)
{
	volatile char room[FRAME_BYTES * 2];
	struct many m = many_from(x);

	room[x % FRAME_BYTES] = (char)x;
	return NAME(PLUG, burn)(x, turns) + many_sum(m) + (uint64_t)room[1];
}

uint64_t plug_enter(uint64_t x, unsigned int turns)
{
	x = NAME(PLUG, hold)(x, turns);
	KEEP_CALL(x);
	return x + 1;
}
