/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>

#define LOG_TEXT_MAX 1024

bool log_wants(const struct log *log, enum pa_log_level level)
{
	return log && log->fn && (level != PA_LOG_DEBUG || log->has_debug);
}

void log_write(const struct log *log, enum pa_log_level level, const char *fmt, ...)
{
	char text[LOG_TEXT_MAX];
	va_list ap;

	if (!log_wants(log, level))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap); /* a truncated message is still useful */
	va_end(ap);
	log->fn(log->ctx, level, text);
}
