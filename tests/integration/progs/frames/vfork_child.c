// SPDX-License-Identifier: Apache-2.0
/*
 * vfork_child [SECONDS [TURNS]]: a child of vfork(), in its parent's memory, burns for TURNS (100)
 * of about 0.2 ms each and ends; then the next one.
 * Truth: vfork_burn, vfork_run, main.
 */
#include "frames.h"

#include <sys/prctl.h>
#include <sys/wait.h>

/* Never returns: the frame that called vfork() is the parent's too. */
_Noreturn NOINLINE static void vfork_burn(uint64_t x, unsigned long turns)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a parent that waits here can be killed */
	while (turns--)
		x = burn_steps(x, STEPS_LONG);
	_exit(x == 0);
}

NOINLINE static void vfork_run(uint64_t x, unsigned long turns)
{
	pid_t pid = vfork();

	if (pid == 0)
		vfork_burn(x, turns);
	if (pid < 0 || waitpid(pid, NULL, 0) < 0)
		exit(1);
}

int main(int argc, char **argv)
{
	unsigned long turns = arg_number(argc, argv, 2, 100);

	prog_stop_after(arg_number(argc, argv, 1, 0));
	prog_say_ready();
	while (!prog_stopped)
		vfork_run((uint64_t)argc, turns);
	return 0;
}
