/* SPDX-License-Identifier: Apache-2.0 */
/* Names of code that was made at run time. */
#include "agent/source.h"

int source_open_jit(struct capture *c, const struct profile_mapping *m, struct source *s)
{
	return source_open_raw(s, "machine code made at run time, which no file describes", NULL);
}
