// SPDX-License-Identifier: Apache-2.0
/*
 * spin [SECONDS]: one thread on the CPU until SECONDS have passed (0: for ever) or SIGTERM comes.
 * Truth: every sample is main → spin_outer → spin_inner.
 */
#include "prog.h"

#define STEPS_PER_CALL 100000

NOINLINE static uint64_t spin_inner(uint64_t x)
{
	KEEP_FRAME();
	return burn_steps(x, STEPS_PER_CALL);
}

NOINLINE static uint64_t spin_outer(uint64_t x)
{
	while (!prog_stopped)
		x = spin_inner(x);
	return x;
}

int main(int argc, char **argv)
{
	prog_stop_after(arg_number(argc, argv, 1, 0));
	prog_say_ready();
	return spin_outer((uint64_t)argc) == 0;
}
