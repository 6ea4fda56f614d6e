// SPDX-License-Identifier: Apache-2.0
/*
 * variable: frames whose size only the run knows.
 * Truth: variable_burn, variable_hold, main.
 */
#include "frames.h"

#include <alloca.h>

NOINLINE static uint64_t variable_burn(volatile char *room, unsigned int size, uint64_t x)
{
	room[x % size] = (char)x;
	return burn_steps(x, STEPS_SHORT) + (uint64_t)room[0];
}

NOINLINE static uint64_t variable_hold(unsigned int size, uint64_t x)
{
	volatile char *room = alloca(size);
	struct many m = many_from(x);

	room[0] = 1;
	return variable_burn(room, size, x) + many_sum(m) + (uint64_t)room[size - 1];
}

int main(int argc, char **argv)
{
	uint64_t x = (uint64_t)argc;

	prog_stop_after(arg_number(argc, argv, 1, 0));
	prog_say_ready();
	while (!prog_stopped)
		x = variable_hold(16 + (unsigned int)(x >> 7) % 5000, x);
	return x == 0;
}
