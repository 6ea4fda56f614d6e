// SPDX-License-Identifier: Apache-2.0
/*
 * threads [SLEEPERS [BURNERS [SECONDS [ALONE]]]]: 10,000 threads that only sleep and 2 that burn CPU;
 * if ALONE is not 0, the first thread has exited when it is ready. With ALONE 2, another thread starts those that burn
 * CPU when it gets a line.
 * Truth: all samples after "ready" are of the burners, named "burner", in burner_main → burn_loop;
 * the sleepers, named "sleeper", take no CPU.
 */
#include "prog.h"

#include <pthread.h>

#define STEPS_PER_TURN 100000
#define STACK_BYTES (64 * 1024)

static void *sleeper_main(void *arg)
{
	for (;;)
		pause();
	return arg;
}

NOINLINE static uint64_t burn_loop(uint64_t x)
{
	KEEP_FRAME();
	while (!prog_stopped)
		x = burn_steps(x, STEPS_PER_TURN);
	return x;
}

static void *burner_main(void *arg)
{
	uint64_t x = burn_loop((uintptr_t)arg);

	return x ? arg : NULL;
}

static int start_thread(void *(*run)(void *), void *arg, const char *name)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attr, run, arg);
	if (!r)
		pthread_setname_np(thread, name);
	pthread_attr_destroy(&attr);
	return r;
}

static int start_threads(unsigned long nr, void *(*run)(void *), const char *name)
{
	int r = 0;

	for (unsigned long i = 0; i < nr && !r; i++)
		r = start_thread(run, NULL, name);
	return r;
}

static void *starter_main(void *nr_burners)
{
	if (getchar() != '\n')
		return NULL;
	(void)start_threads(*(unsigned long *)nr_burners, burner_main, "burner");
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long nr_sleepers = arg_number(argc, argv, 1, 10000);
	static unsigned long nr_burners;
	unsigned long alone = arg_number(argc, argv, 4, 0);
	int r;

	nr_burners = arg_number(argc, argv, 2, 2);

	prog_stop_after(arg_number(argc, argv, 3, 0));
	r = start_threads(nr_sleepers, sleeper_main, "sleeper");
	if (!r && alone == 2)
		r = start_thread(starter_main, &nr_burners, "starter");
	else if (!r)
		r = start_threads(nr_burners, burner_main, "burner");
	if (r) {
		fprintf(stderr, "threads: pthread_create: %s\n", strerror(r));
		return 1;
	}
	prog_say_ready();
	if (alone)
		pthread_exit(NULL);
	while (!prog_stopped)
		pause();
	return 0;
}
