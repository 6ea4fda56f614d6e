// SPDX-License-Identifier: Apache-2.0
/*
 * no_return: the last instruction of a function is a call that does not come back, so its return
 * address is already another function's.
 * Truth: no_return_burn, ends_with_call, main.
 */
#include "frames.h"

_Noreturn NOINLINE static void no_return_burn(uint64_t x)
{
	prog_say_ready();
	while (!prog_stopped)
		x = burn_steps(x, STEPS_LONG);
	_exit(x == 0);
}

_Noreturn NOINLINE static void ends_with_call(uint64_t x)
{
	volatile char room[72];

	room[x % sizeof(room)] = (char)x;
	no_return_burn(x + (uint64_t)room[1]);
}

int main(int argc, char **argv)
{
	prog_stop_after(arg_number(argc, argv, 1, 0));
	ends_with_call((uint64_t)argc);
}
