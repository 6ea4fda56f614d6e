// SPDX-License-Identifier: Apache-2.0
/*
 * churn [SECONDS]: a process whose threads come and go while it stays. The main thread burns CPU
 * all the time; every few milliseconds it starts one more thread, which burns a little and ends.
 * Truth: the main thread's samples are main → churn_main, the others', named "passer", are
 * passer_main → churn_thread. At the end it prints the CPU time of the main thread and the number
 * of threads that came and went.
 */
#include "prog.h"

#include <pthread.h>

#define STEPS_PER_LOOK 20000
#define MAIN_TURN_NS (2 * NS_PER_MS)
#define PASSER_LIFE_NS (1 * NS_PER_MS)

INLINE uint64_t burn_until(uint64_t end_ns)
{
	uint64_t x = end_ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		x = burn_steps(x, STEPS_PER_LOOK);
	return x;
}

NOINLINE static uint64_t churn_thread(void)
{
	KEEP_FRAME();
	return burn_until(PASSER_LIFE_NS);
}

static void *passer_main(void *arg)
{
	return churn_thread() ? arg : NULL;
}

NOINLINE static uint64_t churn_main(uint64_t end_ns)
{
	KEEP_FRAME();
	return burn_until(end_ns);
}

int main(int argc, char **argv)
{
	unsigned long nr_threads = 0;
	pthread_t thread;

	prog_stop_after(arg_number(argc, argv, 1, 0));
	prog_say_ready();
	while (!prog_stopped) {
		if (pthread_create(&thread, NULL, passer_main, NULL)) {
			fputs("churn: cannot start a thread\n", stderr);
			return 1;
		}
		pthread_setname_np(thread, "passer");
		churn_main(clock_ns(CLOCK_THREAD_CPUTIME_ID) + MAIN_TURN_NS);
		pthread_join(thread, NULL);
		nr_threads++;
	}
	printf("main %llu threads %lu\n", (unsigned long long)clock_ns(CLOCK_THREAD_CPUTIME_ID),
	       nr_threads);
	return 0;
}
