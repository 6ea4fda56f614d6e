// SPDX-License-Identifier: Apache-2.0
/*
 * vdso: asks for the time, again and again.
 * Truth: the vDSO, the C library, vdso_ask, main.
 */
#include "frames.h"

NOINLINE static uint64_t vdso_ask(uint64_t x)
{
	struct many m = many_from(x);
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	return now_ns + many_sum(m);
}

int main(int argc, char **argv)
{
	uint64_t x = (uint64_t)argc;

	prog_stop_after(arg_number(argc, argv, 1, 0));
	prog_say_ready();
	while (!prog_stopped)
		x = vdso_ask(x);
	return x == 0;
}
