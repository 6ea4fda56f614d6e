/* SPDX-License-Identifier: Apache-2.0 */
/* Signals as something to poll for, and the way back for a command that knows nothing of it. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <signal.h>

struct signals {
	int fd; /* a signalfd for SIGINT, SIGTERM, SIGHUP and SIGCHLD; -1 before signals_block() */
	sigset_t mask;                                   /* as inherited */
	struct sigaction pipe, file_size, child, hangup; /* dispositions as inherited */
};

/*
 * SIGPIPE and SIGXFSZ are ignored from here on: a reader that went away, or a file that would pass
 * the size limit, is an error of that one write.
 * SIGCHLD gets its default, since inherited "ignore" would lose the command's status.
 */
int signals_init(struct signals *s);

/*
 * From here on SIGINT, SIGTERM, SIGCHLD and, unless it was ignored at start (nohup), SIGHUP arrive
 * at s->fd only. Until then an interrupt simply ends the agent, as it should while nothing is
 * captured and an output may wait for its reader.
 */
int signals_block(struct signals *s);

void signals_done(struct signals *s);

/* In the child, before exec: everything as the agent itself was started. */
void signals_restore(const struct signals *s);

/* The next signal that has arrived at s->fd, or 0. */
int signals_read(const struct signals *s);

#endif
