/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/console.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/flag_names.h"
#include "cli/scope.h"
#include "cli/terminal_text.h"

#define MESSAGE_MAX 1024
#define HELD_TEXT_MAX 4096
#define MAX_WARNINGS 10 /* a target can provoke one for each of its files */

void console_init(struct console *c, bool quiet, unsigned int verbosity, bool is_shared)
{
	bool is_terminal = isatty(STDERR_FILENO);

	*c = (struct console){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.max_level = PA_LOG_WARN,
		.is_quiet = quiet,
		.is_terminal = is_terminal,
		.is_held = is_terminal && is_shared,
		.is_live = is_terminal && !quiet && !is_shared,
	};
	if (quiet)
		c->max_level = PA_LOG_ERROR;
	else if (verbosity)
		c->max_level = verbosity > 1 ? PA_LOG_DEBUG : PA_LOG_INFO;
}

/*
 * Overwrites the line with spaces instead of using an escape sequence, which works on every
 * terminal: all columns but the last, which would wrap the line. The cursor always rests in the
 * first column, so that an echoed ^C is overwritten.
 */
static void erase_status(struct console *c)
{
	uint32_t columns = text_terminal_columns(STDERR_FILENO);

	if (c->has_status && columns)
		(void)fprintf(stderr, "\r%*s\r", (int)columns - 1, "");
	c->has_status = false;
}

/* On a terminal, text is wrapped here and indented. If the terminal wrapped it, a long path chosen by
 * another user could fill the line and continue like a message of its own. */
static void put_message(const char *prefix, const char *text)
{
	uint32_t columns = text_terminal_columns(STDERR_FILENO), used = (uint32_t)strlen(prefix);
	_cleanup_(freep) char *copy = columns > used ? strdup(text) : NULL;

	(void)fputs(prefix, stderr); /* a write error here could only be reported here */
	if (copy)
		text_wrap(stderr, copy, columns - used, used);
	else
		(void)text_put(stderr, text, TEXT_NO_LIMIT);
	(void)fputc('\n', stderr);
}

static void hold_line(struct console *c, const char *prefix, const char *text)
{
	if (c->nr_held < CONSOLE_MAX_HELD)
		c->held[c->nr_held] = (struct console_line){ prefix, strndup(text, HELD_TEXT_MAX) };
	c->nr_held++;
}

static void put_line(struct console *c, const char *prefix, const char *text)
{
	pthread_mutex_lock(&c->lock);
	if (c->is_held) {
		hold_line(c, prefix, text);
	} else {
		erase_status(c);
		put_message(prefix, text);
		(void)fflush(stderr);
	}
	pthread_mutex_unlock(&c->lock);
}

void console_release(struct console *c)
{
	char more[MESSAGE_MAX];

	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->nr_held && i < CONSOLE_MAX_HELD; i++) {
		if (c->held[i].text)
			put_message(c->held[i].prefix, c->held[i].text);
		free(c->held[i].text);
	}
	if (c->nr_held > CONSOLE_MAX_HELD) {
		(void)snprintf(more, sizeof(more), "%zu more messages",
			       c->nr_held - CONSOLE_MAX_HELD);
		put_message("perf-agent: ", more);
	}
	(void)fflush(stderr);
	c->nr_held = 0;
	c->is_held = false;
	pthread_mutex_unlock(&c->lock);
}

/* Without --verbose, only the first warnings are printed. */
static bool is_one_too_many(struct console *c, enum pa_log_level level)
{
	unsigned int nr;

	if (level != PA_LOG_WARN || c->max_level > PA_LOG_WARN)
		return false;
	nr = atomic_fetch_add(&c->nr_warnings, 1);
	if (nr == MAX_WARNINGS)
		put_line(c, "perf-agent: ", "more warnings are shown with --verbose");
	return nr >= MAX_WARNINGS;
}

void console_log(void *ctx, enum pa_log_level level, const char *text)
{
	struct console *c = ctx;
	char named[FLAG_NAMES_SIZE];

	if (level <= c->max_level && !is_one_too_many(c, level))
		put_line(c, level == PA_LOG_WARN ? "perf-agent: warning: " : "perf-agent: ",
			 flag_names(text, named));
}

void console_error(struct console *c, const char *fmt, ...)
{
	char text[MESSAGE_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap); /* may be truncated */
	va_end(ap);
	put_line(c, "perf-agent: ", text);
}

void console_note(struct console *c, const char *fmt, ...)
{
	char text[MESSAGE_MAX];
	va_list ap;

	if (c->is_quiet)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_line(c, "perf-agent: ", text);
}

void console_status(struct console *c, const char *text)
{
	uint32_t columns = text_terminal_columns(STDERR_FILENO), cols;

	if (!c->is_live || columns < 2)
		return;
	pthread_mutex_lock(&c->lock);
	(void)fputc('\r', stderr);
	cols = text_put(stderr, text, columns - 1);
	(void)fprintf(stderr, "%*s\r", (int)(columns - 1 - cols), "");
	c->has_status = true;
	(void)fflush(stderr);
	pthread_mutex_unlock(&c->lock);
}

void console_clear(struct console *c)
{
	pthread_mutex_lock(&c->lock);
	erase_status(c);
	(void)fflush(stderr);
	pthread_mutex_unlock(&c->lock);
}
