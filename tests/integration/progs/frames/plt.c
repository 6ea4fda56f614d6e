// SPDX-License-Identifier: Apache-2.0
/*
 * plt: calls a function of a library that does next to nothing, through the stub of a lazily bound
 * call; with LD_BIND_NOT=1 the loader looks it up every time.
 * Truth: plt_target or the stub or the loader, plt_loop, main.
 */
#include "frames.h"

#ifdef BARE_STUB /* in a static program, which has stubs for such functions only, and no table for them */
static uint64_t plt_target_chosen(uint64_t x)
{
	return x * 3 + 1;
}

static uint64_t (*choose(void))(uint64_t)
{
	return plt_target_chosen;
}

uint64_t plt_target(uint64_t x) __attribute__((ifunc("choose")));
#else
uint64_t plt_target(uint64_t x);
#endif

NOINLINE static uint64_t plt_loop(uint64_t x)
{
	struct many m = many_from(x);

	while (!prog_stopped) {
		x = plt_target(x);
		/* long enough to be interrupted here, too */
		x = (x ^ x >> 29) * 0x9e3779b97f4a7c15;
	}
	return x + many_sum(m);
}

int main(int argc, char **argv)
{
	uint64_t x = (uint64_t)argc;

	prog_stop_after(arg_number(argc, argv, 1, 0));
	prog_say_ready();
	x = plt_loop(x);
	return x == 0;
}
