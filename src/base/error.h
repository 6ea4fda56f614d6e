/* SPDX-License-Identifier: Apache-2.0 */
/* One sentence for the user, said at the place that knows the cause. struct pa_error is public. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <perfagent/perfagent.h>

/*
 * Fills err (which may be NULL) with code, a positive errno value, and the sentence; returns -code,
 * so that a failing function can end with `return error_set(err, ENOENT, "...")`. An error that is
 * already set is kept: the first place to speak knew most.
 */
int error_set(struct pa_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
