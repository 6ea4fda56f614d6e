/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/console.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/text.h"

#define MESSAGE_MAX 1024

void console_init(struct console *c, bool quiet, unsigned int verbosity)
{
	*c = (struct console){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.max_level = PA_LOG_WARN,
		.is_quiet = quiet,
		.is_live = !quiet && isatty(STDERR_FILENO),
	};
	if (quiet)
		c->max_level = PA_LOG_ERROR;
	else if (verbosity)
		c->max_level = verbosity > 1 ? PA_LOG_DEBUG : PA_LOG_INFO;
}

/*
 * Spaces instead of an escape sequence: they work on every terminal. All columns but the last, which
 * would wrap the line. The cursor always rests in the first, so that an echoed ^C is written over.
 */
static void erase_status(struct console *c)
{
	uint32_t columns = text_terminal_columns(STDERR_FILENO);

	if (c->has_status && columns)
		(void)fprintf(stderr, "\r%*s\r", (int)columns - 1, "");
	c->has_status = false;
}

static void put_line(struct console *c, const char *prefix, const char *text)
{
	pthread_mutex_lock(&c->lock);
	erase_status(c);
	(void)fputs(prefix, stderr); /* there is no better place to report to */
	(void)text_put(stderr, text, TEXT_NO_LIMIT);
	(void)fputc('\n', stderr);
	(void)fflush(stderr);
	pthread_mutex_unlock(&c->lock);
}

void console_log(void *ctx, enum pa_log_level level, const char *text)
{
	struct console *c = ctx;

	if (level <= c->max_level)
		put_line(c, level == PA_LOG_WARN ? "perf-agent: warning: " : "perf-agent: ", text);
}

void console_error(struct console *c, const char *fmt, ...)
{
	char text[MESSAGE_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap); /* a cut message is still one */
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
