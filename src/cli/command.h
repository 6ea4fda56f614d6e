/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command to profile: forked early, so that the session knows its PID; held until the session
 * samples, then released, so that its first instruction is sampled.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/signals.h"

struct command {
	char *const *argv; /* borrowed */
	pid_t pid;         /* 0: none */
	int go_fd;         /* a byte releases the child, end of file ends it; -1 afterwards */
	int failure_fd;    /* receives the errno of a failed exec, or end of file; -1 afterwards */
	bool has_ended;
	int wait_status; /* valid once has_ended */
};

#define COMMAND_NONE ((struct command){ .go_fd = -1, .failure_fd = -1 })

/* Searches for the program like execvp(), with the user's own privileges: access(2) ignores
 * capabilities. -ENOENT: not found. 0: a file exists; execvp() decides whether it can be executed.
 */
int command_find(const char *name);

/* Forks. The child waits, with the signal dispositions that the agent was started with. The
 * command's standard output is a copy of stdout_fd. */
int command_spawn(struct command *c, char *const argv[], const struct signals *signals,
		  int stdout_fd);

/*
 * Releases the command. Returns 0 once it runs (or was killed before), or the negative errno of
 * execvp(); the child then stays until command_done(), so that the session can be cancelled before
 * it sees its target exit.
 */
int command_release(struct command *c);

/* Why execvp() failed with this errno, as a message. Valid until the next call of strerror(). */
const char *command_why_not_run(const char *name, int error);

/* Reaps the command if it has exited; returns has_ended. */
bool command_reap(struct command *c);

/* The exit status as in a shell: 128 + n if signal n killed it. Once has_ended. */
int command_status(const struct command *c);

/* The signal that killed it; 0: none. */
int command_signal(const struct command *c);

/* Ends a child that has not become the command; leaves a running command alone. Forgets it in both
 * cases. */
void command_done(struct command *c);

#endif
