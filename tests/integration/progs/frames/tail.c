// SPDX-License-Identifier: Apache-2.0
/*
 * tail: tail_middle jumps to tail_burn instead of calling it, and has left the stack by then.
 * Truth: tail_burn, tail_top, main; or tail_middle, tail_top, main.
 */
#include "frames.h"

NOINLINE static uint64_t tail_burn(uint64_t x)
{
	struct many m = many_from(x);

	return burn_steps(x, STEPS_SHORT) + many_sum(m);
}

NOINLINE static uint64_t tail_middle(uint64_t x)
{
	volatile char room[200];

	room[x % sizeof(room)] = (char)x;
	return tail_burn(x + (uint64_t)room[0]);
}

NOINLINE static uint64_t tail_top(uint64_t x)
{
	x = tail_middle(x);
	KEEP_CALL(x);
	return x + 1;
}

int main(int argc, char **argv)
{
	uint64_t x = (uint64_t)argc;

	prog_stop_after(arg_number(argc, argv, 1, 0));
	prog_say_ready();
	while (!prog_stopped)
		x = tail_top(x);
	return x == 0;
}
