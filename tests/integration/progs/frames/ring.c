// SPDX-License-Identifier: Apache-2.0
/*
 * ring: burns CPU below 65 calls that go round over three libraries.
 * Truth: ring_bottom, then (hop_b, hop_c, hop_a) 21 times, hop_b, hop_c, main.
 */
#include "ring_hop.h"

#include "frames.h"

#define DEPTH 65

NOINLINE static uint64_t ring_bottom(const struct ring *r, unsigned int left, uint64_t x)
{
	(void)r;
	prog_say_ready();
	while (!prog_stopped)
		x = burn_steps(x + left, STEPS_LONG);
	return x;
}

int main(int argc, char **argv)
{
	const struct ring r = { { hop_a, hop_b, hop_c }, ring_bottom };

	prog_stop_after(arg_number(argc, argv, 1, 0));
	return r.hops[DEPTH % 3](&r, DEPTH, (uint64_t)argc) == 0;
}
