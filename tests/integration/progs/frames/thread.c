// SPDX-License-Identifier: Apache-2.0
/*
 * thread: one thread burns CPU, the first one waits for it.
 * Truth: thread_burn, thread_begin, and the C library's two functions below a thread.
 */
#include "frames.h"

#include <pthread.h>

NOINLINE static uint64_t thread_burn(uint64_t x)
{
	struct many m = many_from(x);

	while (!prog_stopped)
		x = burn_steps(x, STEPS_LONG);
	return x + many_sum(m);
}

static void *thread_begin(void *arg)
{
	prog_say_ready();
	return thread_burn((uintptr_t)arg) ? arg : NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	prog_stop_after(arg_number(argc, argv, 1, 0));
	if (pthread_create(&thread, NULL, thread_begin, NULL))
		return 1;
	return pthread_join(thread, NULL);
}
