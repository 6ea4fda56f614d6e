// SPDX-License-Identifier: Apache-2.0
/*
 * deep_wait [DEPTH]: two threads, the first and another, that wait below DEPTH (70) nested calls with frames of more
 * than 600 bytes.
 * Truth: while they wait, each has DEPTH times deep_call, and one pause().
 */
#include "prog.h"

#include <pthread.h>

#define FRAME_BYTES 600
#define STACK_BYTES (8 << 20)

static pthread_barrier_t arrived;

NOINLINE static int deep_call(unsigned long depth)
{
	volatile char room[FRAME_BYTES];
	int r = 0;

	room[0] = (char)depth;
	if (depth > 1)
		return deep_call(depth - 1) + room[0];
	if (pthread_barrier_wait(&arrived) == PTHREAD_BARRIER_SERIAL_THREAD)
		prog_say_ready();
	while (!prog_stopped)
		r += pause();
	return r + room[0];
}

static void *other_main(void *depth)
{
	(void)deep_call(*(unsigned long *)depth);
	return NULL;
}

int main(int argc, char **argv)
{
	static unsigned long depth;
	pthread_attr_t attr;
	pthread_t other;

	depth = arg_number(argc, argv, 1, 70);
	prog_stop_after(0);
	pthread_barrier_init(&arrived, NULL, 2);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (pthread_create(&other, &attr, other_main, &depth) != 0)
		return 1;
	return deep_call(depth) == 0;
}
