/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command to profile: forked early, so that the session knows its PID, held until the session
 * samples, then let go, so that its first instruction is seen.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/signals.h"

struct command {
	char *const *argv; /* borrowed */
	pid_t pid;         /* 0: none */
	int go_fd;         /* a byte lets the child go, its end lets it die; -1 afterwards */
	int failure_fd;    /* the errno of a failed exec, or its end; -1 afterwards */
	bool has_ended;
	int wait_status; /* once has_ended */
};

#define COMMAND_NONE ((struct command){ .go_fd = -1, .failure_fd = -1 })

/* Forks. The child waits, with signals as the agent itself was started with. The command's standard
 * output is a copy of stdout_fd. */
int command_spawn(struct command *c, char *const argv[], const struct signals *signals,
		  int stdout_fd);

/*
 * Lets the command go. Returns 0 once it runs (or was killed before), or the negative errno of
 * execvp(); the child then stays until command_done(), so that the session can be cancelled before
 * it sees its target end.
 */
int command_release(struct command *c);

/* Collects the command if it has ended; returns has_ended. */
bool command_reap(struct command *c);

/* What a shell would call the result: 128 + n when signal n killed it. Once has_ended. */
int command_status(const struct command *c);

/* Ends a child that has not become the command; lets a command run on. Forgets it either way. */
void command_done(struct command *c);

#endif
