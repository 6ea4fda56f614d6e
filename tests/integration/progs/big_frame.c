// SPDX-License-Identifier: Apache-2.0
/*
 * big_frame [SECONDS]: burns CPU below a caller whose frame is larger than what is copied of a stack.
 * Truth: every sample is big_frame_burn, main, and what calls main; built without frame pointers.
 */
#include "prog.h"

#define FRAME_BYTES 200000
#define STEPS_PER_TURN 100000

NOINLINE static uint64_t big_frame_burn(volatile char *room)
{
	uint64_t x = (unsigned char)room[0];

	prog_say_ready();
	while (!prog_stopped)
		x = burn_steps(x, STEPS_PER_TURN);
	return x;
}

int main(int argc, char **argv)
{
	volatile char room[FRAME_BYTES];

	prog_stop_after(arg_number(argc, argv, 1, 0));
	room[0] = room[FRAME_BYTES - 1] = 1;
	return big_frame_burn(room) == (uint64_t)room[FRAME_BYTES - 1];
}
