// SPDX-License-Identifier: Apache-2.0
/*
 * pingpong [CPU]: two threads that pass a byte back and forth through two pipes, both pinned to one CPU, so that
 * every read() is a context switch. Each waits in a stack of 27 frames without frame pointers: read(),
 * take_turn, 22 functions with frames of different sizes, pass_ball, and the two that begin a thread.
 * SCHED_BATCH, so that the one who is woken does not preempt the other: all switches are waits.
 * Prints "ready", and goes on until it is ended or its standard input is.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

struct player {
	int in, out;
	pthread_t thread;
};

static int cpu;

static NOINLINE int take_turn(struct player *p)
{
	char ball = 'o';

	if (write(p->out, &ball, 1) != 1 || read(p->in, &ball, 1) != 1)
		exit(1);
	return ball;
}

#define HOP(nr, next)                                                                              \
	static NOINLINE int hop_##nr(struct player *p)                                             \
	{                                                                                          \
		volatile char room[8 + (nr)*7 % 64];                                               \
		int ball;                                                                          \
                                                                                                   \
		room[0] = (nr);                                                                    \
		ball = next(p);                                                                    \
		return ball + room[0];                                                             \
	}
HOP(1, take_turn)
HOP(2, hop_1)
HOP(3, hop_2)
HOP(4, hop_3)
HOP(5, hop_4)
HOP(6, hop_5)
HOP(7, hop_6)
HOP(8, hop_7)
HOP(9, hop_8)
HOP(10, hop_9)
HOP(11, hop_10)
HOP(12, hop_11)
HOP(13, hop_12)
HOP(14, hop_13)
HOP(15, hop_14)
HOP(16, hop_15)
HOP(17, hop_16)
HOP(18, hop_17)
HOP(19, hop_18)
HOP(20, hop_19)
HOP(21, hop_20)
HOP(22, hop_21)

static NOINLINE void *pass_ball(void *arg)
{
	const struct sched_param priority = { 0 };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) ||
	    pthread_setschedparam(pthread_self(), SCHED_BATCH, &priority))
		exit(1);
	while (hop_22(arg))
		;
	return NULL;
}

int main(int argc, char **argv)
{
	struct player players[2];
	int there[2], back[2];

	cpu = argc > 1 ? atoi(argv[1]) : 0;
	if (pipe(there) || pipe(back))
		return 1;
	players[0].in = there[0];
	players[0].out = back[1];
	players[1].in = back[0];
	players[1].out = there[1];
	for (int i = 0; i < 2; i++)
		if (pthread_create(&players[i].thread, NULL, pass_ball, &players[i]))
			return 1;
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	_exit(0); /* both threads go on until the end */
}
