/* SPDX-License-Identifier: Apache-2.0 */
/* Signals as a descriptor to poll, and their original state for a command. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct signals {
	int fd; /* a signalfd for SIGINT, SIGTERM, SIGHUP and SIGCHLD; -1 before signals_block() */
	sigset_t mask;                                   /* as inherited */
	struct sigaction pipe, file_size, child, hangup; /* dispositions as inherited */
	int last;             /* the last one that was not a copy; 0: none */
	uint32_t last_sender; /* 0: the kernel, as for Ctrl-C */
	uint64_t last_ns;
	bool has_copies;
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

/* Called in the child before exec: restores the signal state that the agent was started with. */
void signals_restore(const struct signals *s);

/*
 * Whether a signal is the one that arrived before, on another way, and no second request. timeout(1)
 * signals its command and then the whole process group, and sudo(8) passes on each that it gets: the
 * agent below it gets up to three. Copies come within a second from another process, or within 100 ms
 * from the same; Ctrl-C never counts as one.
 */
bool signals_is_copy(struct signals *s, int signal_nr, uint32_t sender, uint64_t now_ns);

/* The next signal from s->fd that is not a copy, or 0. */
int signals_read(struct signals *s);

#endif
