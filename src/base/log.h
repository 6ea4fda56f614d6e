/* SPDX-License-Identifier: Apache-2.0 */
/* Messages go to the session's callback, never to a stream of the library. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <perfagent/perfagent.h>
#include <stdbool.h>

struct log {
	pa_log_fn fn; /* NULL: no messages */
	void *ctx;    /* borrowed from the caller of the session */
	bool has_debug;
};

/* False: log_write() would do nothing. log may be NULL. */
bool log_wants(const struct log *log, enum pa_log_level level);

/* "subsystem: 'object': what happened, consequence". log may be NULL. */
void log_write(const struct log *log, enum pa_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#define log_warn(log, ...) log_write(log, PA_LOG_WARN, __VA_ARGS__)
#define log_info(log, ...) log_write(log, PA_LOG_INFO, __VA_ARGS__)
#define log_debug(log, ...) log_write(log, PA_LOG_DEBUG, __VA_ARGS__)

#endif
