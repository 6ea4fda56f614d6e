// SPDX-License-Identifier: Apache-2.0
/*
 * exec_threads COUNT, by its path: a second thread executes the program again, COUNT times. The
 * kernel gives that thread the TID of the first one, which is gone.
 * Truth: COUNT calls of execve(), each in a thread that is not the first. Prints, at the end, "done".
 */
#include "prog.h"

#include <pthread.h>

static char **args;

static void *run_again(void *left)
{
	char *const again[] = { args[0], left, NULL };

	execv(args[0], again);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long count = arg_number(argc, argv, 1, 0);
	pthread_t thread;
	char left[24];

	if (!count) {
		puts("done");
		return 0;
	}
	args = argv;
	snprintf(left, sizeof(left), "%lu", count - 1);
	if (pthread_create(&thread, NULL, run_again, left) == 0)
		pthread_join(thread, NULL);
	return 1;
}
