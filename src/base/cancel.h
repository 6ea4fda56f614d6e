/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wish that long work be given up, as its worker can ask for it: once in a while, inside of loops
 * over what a file has. Work that was given up ends with -ECANCELED, or as if its input ended there.
 */
#ifndef BASE_CANCEL_H
#define BASE_CANCEL_H

#include <stdbool.h>

struct cancel {
	bool (*is_asked)(const void *ctx); /* any thread */
	const void *ctx;
};

/* c: NULL, nobody can ask. */
static inline bool cancel_is_asked(const struct cancel *c)
{
	return c && c->is_asked(c->ctx);
}

#endif
