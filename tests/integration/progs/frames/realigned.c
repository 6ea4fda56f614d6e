// SPDX-License-Identifier: Apache-2.0
/*
 * realigned: frames that begin at a multiple of 64 or 32, whatever the caller's stack pointer was.
 * The second takes arguments from the stack as well, so that it has to keep where they are.
 * Truth: realigned_burn, realigned_args, realigned_plain, main.
 */
#include "frames.h"

typedef uint64_t vector __attribute__((vector_size(32)));

NOINLINE static uint64_t realigned_burn(volatile char *room, volatile vector *v, uint64_t x)
{
	room[x % 64] = (char)x;
	(*v)[x % 4] = x;
	return burn_steps(x, STEPS_SHORT);
}

NOINLINE static uint64_t realigned_args(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
					uint64_t f, uint64_t g, uint64_t h)
{
	volatile vector v = { a, b, c, d };
	volatile char room[64] __attribute__((aligned(64)));
	struct many m = many_from(a);

	room[0] = (char)f;
	a = realigned_burn(room, &v, a + e);
	return a + many_sum(m) + v[1] + (uint64_t)room[0] + g * h;
}

NOINLINE static uint64_t realigned_plain(uint64_t x)
{
	volatile char room[128] __attribute__((aligned(64)));

	room[x % 128] = (char)x;
	x = realigned_args(x, 1, 2, 3, 4, 5, 6, 7);
	return x + (uint64_t)room[0];
}

int main(int argc, char **argv)
{
	uint64_t x = (uint64_t)argc;

	prog_stop_after(arg_number(argc, argv, 1, 0));
	prog_say_ready();
	while (!prog_stopped)
		x = realigned_plain(x);
	return x == 0;
}
