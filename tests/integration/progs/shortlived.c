// SPDX-License-Identifier: Apache-2.0
/*
 * shortlived [SECONDS [LIFE_MS]]: forks one child after the other, each of which burns LIFE_MS (5)
 * of CPU time and exits; no exec. Prints at the end how many there were.
 * Truth: nearly all CPU time is main → parent_loop → child_life, each child another pid; the
 * parent itself only waits.
 */
#include "prog.h"

#include <sys/wait.h>

#define STEPS_PER_LOOK 10000

NOINLINE static void child_life(uint64_t life_ns)
{
	uint64_t x = 1;

	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < life_ns)
		x = burn_steps(x, STEPS_PER_LOOK);
	_exit(x == 0);
}

NOINLINE static int parent_loop(uint64_t life_ns)
{
	int nr_children = 0;

	while (!prog_stopped) {
		pid_t pid = fork();

		if (pid < 0)
			return -errno;
		if (pid == 0)
			child_life(life_ns);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		nr_children++;
	}
	return nr_children;
}

int main(int argc, char **argv)
{
	uint64_t life_ns = arg_number(argc, argv, 2, 5) * NS_PER_MS;
	int nr_children;

	prog_stop_after(arg_number(argc, argv, 1, 0));
	prog_say_ready();
	nr_children = parent_loop(life_ns);
	if (nr_children < 0) {
		fprintf(stderr, "shortlived: fork: %s\n", strerror(-nr_children));
		return 1;
	}
	printf("children %d\n", nr_children);
	return 0;
}
