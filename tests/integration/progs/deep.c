// SPDX-License-Identifier: Apache-2.0
/*
 * deep [DEPTH [SECONDS]]: burns CPU below DEPTH (600) nested calls of one function.
 * Truth: every sample after "ready" is main, DEPTH times deep_call, deep_bottom.
 */
#include "prog.h"

#define STEPS_PER_TURN 100000

NOINLINE static uint64_t deep_bottom(uint64_t x)
{
	prog_say_ready();
	while (!prog_stopped)
		x = burn_steps(x, STEPS_PER_TURN);
	return x;
}

NOINLINE static uint64_t deep_call(unsigned long depth, uint64_t x)
{
	if (depth > 1)
		return deep_call(depth - 1, x + depth) + 1;
	return deep_bottom(x) + 1;
}

int main(int argc, char **argv)
{
	unsigned long depth = arg_number(argc, argv, 1, 600);

	prog_stop_after(arg_number(argc, argv, 2, 0));
	return deep_call(depth, (uint64_t)argc) == 0;
}
