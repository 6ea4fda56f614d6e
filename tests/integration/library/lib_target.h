/* SPDX-License-Identifier: Apache-2.0 */
/* A child that spins and naps in turn, in functions with names of their own. */
#ifndef LIB_TARGET_H
#define LIB_TARGET_H

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

__attribute__((noinline)) static void lib_target_spin(void)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 5000000);
}

static pid_t lib_target_start(void)
{
	pid_t pid = fork();

	must(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		lib_target_spin();
		usleep(1000);
	}
}

static void lib_target_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#endif
