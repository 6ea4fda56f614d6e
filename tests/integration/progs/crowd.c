// SPDX-License-Identifier: Apache-2.0
/*
 * crowd NR SECONDS [brief|long]: NR threads at a time that each sleep 50 ms again and again, in nap() <
 * crowd_member(), without frame pointers. Brief ones sleep 0.2 ms once and are replaced when they have ended, long
 * ones sleep for an hour. Prints "ready" when all are there, then waits for a line, goes on for SECONDS, and prints how
 * many naps were taken since the line until the end, and how many threads there were.
 */
#include "prog.h"

#include <pthread.h>
#include <stdatomic.h>

#define STACK_BYTES (64 * 1024)
#define NAP_NS (50 * (long)NS_PER_MS)
#define BRIEF_NS 200000
#define LONG_S 3600

static atomic_bool is_over;
static atomic_ulong nr_naps, nr_threads;
static struct timespec nap_time = { .tv_nsec = NAP_NS };
static bool is_brief;

static NOINLINE void nap(void)
{
	nanosleep(&nap_time, NULL);
	atomic_fetch_add(&nr_naps, 1);
}

static NOINLINE void *crowd_member(void *arg)
{
	atomic_fetch_add(&nr_threads, 1);
	do
		nap();
	while (!is_brief && !is_over);
	return arg;
}

static void begin_all(pthread_t *threads, unsigned long nr)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (unsigned long i = 0; i < nr; i++)
		if (pthread_create(&threads[i], &attr, crowd_member, NULL))
			exit(1);
}

static void end_all(const pthread_t *threads, unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	unsigned long nr = arg_number(argc, argv, 1, 1), seconds = arg_number(argc, argv, 2, 1);
	pthread_t *threads = calloc(nr, sizeof(*threads));
	uint64_t end;

	if (!threads)
		return 1;
	if (argc > 3 && !strcmp(argv[3], "long"))
		nap_time = (struct timespec){ .tv_sec = LONG_S };
	if (argc > 3 && !strcmp(argv[3], "brief")) {
		is_brief = true;
		nap_time.tv_nsec = BRIEF_NS;
	}
	if (!is_brief)
		begin_all(threads, nr);
	prog_say_ready();
	(void)getchar();
	atomic_store(&nr_naps, 0);
	end = clock_ns(CLOCK_MONOTONIC) + seconds * NS_PER_S;
	while (is_brief && clock_ns(CLOCK_MONOTONIC) < end) {
		begin_all(threads, nr);
		end_all(threads, nr);
	}
	if (!is_brief) {
		sleep((unsigned int)seconds);
		is_over = true;
		end_all(threads, nr);
	}
	printf("%lu naps of %lu threads\n", (unsigned long)nr_naps, (unsigned long)nr_threads);
	return 0;
}
