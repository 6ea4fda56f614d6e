/* SPDX-License-Identifier: Apache-2.0 */
/* Cleanup by scope: a local variable that owns something names its destructor in its declaration.
 * */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

/* Transfers ownership: returns the value and sets the variable to NULL, so that cleanup does
 * nothing. */
#define TAKE(p)                                                                                    \
	({                                                                                         \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})

/* As TAKE(), for file descriptors. */
#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int taken_ = (fd);                                                                 \
		(fd) = -1;                                                                         \
		taken_;                                                                            \
	})

/* Defines thing_freep() for use with _cleanup_() from a destructor thing_free(thing *). */
#define DEFINE_CLEANUP(type, destroy)                                                              \
	static inline void destroy##p(type *p)                                                     \
	{                                                                                          \
		if (*p)                                                                            \
			(void)destroy(*p);                                                         \
	}

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void dirclosep(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static inline void fclosep(FILE **f)
{
	if (*f)
		(void)fclose(*f); /* a stream to be kept was closed explicitly */
}

#endif
