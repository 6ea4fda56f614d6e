/* SPDX-License-Identifier: Apache-2.0 */
/* Clean-up by scope for the CLI, which does not include the library's private headers. */
#ifndef CLI_SCOPE_H
#define CLI_SCOPE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#endif
