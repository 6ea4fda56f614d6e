/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>

#define LOG_TEXT_MAX 1024

void log_write(const struct log *log, enum pa_log_level level, const char *fmt, ...)
{
	char text[LOG_TEXT_MAX];
	va_list ap;

	if (!log || !log->fn)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap); /* a truncated message is still useful */
	va_end(ap);
	log->fn(log->ctx, level, text);
}
