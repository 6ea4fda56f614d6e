// SPDX-License-Identifier: Apache-2.0
/*
 * too_deep: burns CPU below 1,000 calls of one function, more than a walk takes.
 * Truth: deep_bottom, then deep_call as often as the walker goes, "too_deep".
 */
#include "frames.h"

#define DEPTH 1000

NOINLINE static uint64_t deep_bottom(uint64_t x)
{
	prog_say_ready();
	while (!prog_stopped)
		x = burn_steps(x, STEPS_LONG);
	return x;
}

NOINLINE static uint64_t deep_call(unsigned int left, uint64_t x)
{
	x = left > 1 ? deep_call(left - 1, x + left) : deep_bottom(x);
	KEEP_CALL(x);
	return x + left;
}

int main(int argc, char **argv)
{
	prog_stop_after(arg_number(argc, argv, 1, 0));
	return deep_call(DEPTH, (uint64_t)argc) == 0;
}
