/* SPDX-License-Identifier: Apache-2.0 */
/* One message for the user, written where the cause is known. struct pa_error is public. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <errno.h>
#include <perfagent/perfagent.h>
#include <string.h>

#define ERROR_MAX_ERRNO 4095 /* of the kernel */

/*
 * Sets err (which may be NULL) to code, a positive errno value, and the message; returns -code, so
 * that a failing function can end with `return error_set(err, ENOENT, "...")`. An error that is
 * already set is kept, because the innermost function knows most. A message about an option begins
 * with its member, "pa_options.event: …", which is stored in err->field.
 */
int error_set(struct pa_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* What a public function does first: the caller may have used err before, or not initialized it. */
static inline void error_clear(struct pa_error *err)
{
	if (err)
		*err = (struct pa_error){ 0 };
}

/* The text of a negative result of a function that the caller of the library wrote: any number may come. */
static inline const char *error_text_of_caller(int r)
{
	return strerror(r < -ERROR_MAX_ERRNO ? EIO : -r);
}

#endif
