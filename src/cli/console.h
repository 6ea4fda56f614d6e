/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard error: messages that scroll and, on a terminal, one status line below them that is
 * rewritten in place. Messages may come from the session's thread.
 */
#ifndef CLI_CONSOLE_H
#define CLI_CONSOLE_H

#include <perfagent/perfagent.h>
#include <pthread.h>

struct console {
	pthread_mutex_t lock; /* over the stream and has_status */
	bool has_status;      /* a status line is shown */
	enum pa_log_level max_level;
	bool is_quiet;
	bool is_live; /* a terminal, and not quiet: status lines are shown */
};

void console_init(struct console *c, bool quiet, unsigned int verbosity);

/* A pa_log_fn; ctx is the console. */
void console_log(void *ctx, enum pa_log_level level, const char *text);

/* "perf-agent: …" whatever the verbosity. */
void console_error(struct console *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A line for whoever reads along; not when quiet. */
void console_note(struct console *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Replaces the status line, cut to the width of the terminal; nothing unless is_live. */
void console_status(struct console *c, const char *text);

/* Takes the status line away. */
void console_clear(struct console *c);

#endif
