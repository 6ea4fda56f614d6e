/* SPDX-License-Identifier: Apache-2.0 */
/* Signals as a descriptor to poll, and their original state for a command. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <signal.h>

struct signals {
	int fd; /* a signalfd for SIGINT, SIGTERM, SIGHUP and SIGCHLD; -1 before signals_block() */
	sigset_t mask;                                   /* as inherited */
	struct sigaction pipe, file_size, child, hangup; /* dispositions as inherited */
};

/*
 * SIGPIPE and SIGXFSZ are ignored from here on: a reader that closed its end, or a file beyond the
 * size limit, is an error of that one write. SIGCHLD is reset to its default, because an inherited
 * "ignore" would lose the command's status.
 */
int signals_init(struct signals *s);

/*
 * From here on, SIGINT, SIGTERM, SIGCHLD and, unless it was ignored at start (nohup), SIGHUP arrive
 * only at s->fd. Before that, an interrupt simply ends the agent, as it should while nothing is
 * captured and opening an output may block.
 */
int signals_block(struct signals *s);

void signals_done(struct signals *s);

/* In the child, before exec: restores what the agent was started with. */
void signals_restore(const struct signals *s);

/* The next signal from s->fd, or 0. */
int signals_read(const struct signals *s);

#endif
