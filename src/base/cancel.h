/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cancellation of long-running work. The work polls it in loops over file contents. Cancelled work
 * ends with -ECANCELED, or as if its input had ended.
 */
#ifndef BASE_CANCEL_H
#define BASE_CANCEL_H

#include <stdbool.h>

struct cancel {
	bool (*is_asked)(const void *ctx); /* called by any thread */
	const void *ctx;
};

/* c may be NULL: never cancelled. */
static inline bool cancel_is_asked(const struct cancel *c)
{
	return c && c->is_asked(c->ctx);
}

#endif
