/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard error: messages that scroll and, on a terminal, a status line below them that is
 * rewritten in place. Messages may come from the session's thread. If a command has the terminal, they are
 * kept until console_release().
 */
#ifndef CLI_CONSOLE_H
#define CLI_CONSOLE_H

#include <perfagent/perfagent.h>
#include <pthread.h>
#include <stdatomic.h>

#define CONSOLE_MAX_HELD 256

struct console_line {
	const char *prefix; /* static */
	char *text;         /* owned; NULL: out of memory */
};

struct console {
	pthread_mutex_t lock; /* protects the stream, has_status and held lines */
	bool has_status;      /* a status line is shown */
	enum pa_log_level max_level;
	atomic_uint nr_warnings; /* including those that were not printed */
	bool is_quiet;
	bool is_terminal; /* standard error is a terminal */
	bool is_held;     /* a command writes to the terminal: messages wait */
	struct console_line held[CONSOLE_MAX_HELD];
	size_t nr_held; /* including those for which there was no room */
	bool is_live;   /* no command shares the terminal, and not quiet: status lines are shown */
};

/* is_shared: a command writes to the same standard error. Status lines and messages would be mixed with its
 * lines and prompts, so a terminal gets no status lines, and messages only after console_release(). */
void console_init(struct console *c, bool quiet, unsigned int verbosity, bool is_shared);

/* Prints the messages that waited; later ones are printed at once. */
void console_release(struct console *c);

/* A pa_log_fn; ctx is the console. */
void console_log(void *ctx, enum pa_log_level level, const char *text);

/* Prints "perf-agent: …" at every verbosity. */
void console_error(struct console *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints an informational line, unless quiet. */
void console_note(struct console *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Replaces the status line, truncated to the width of the terminal; nothing unless is_live. */
void console_status(struct console *c, const char *text);

/* Removes the status line. */
void console_clear(struct console *c);

#endif
