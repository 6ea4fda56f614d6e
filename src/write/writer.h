/* SPDX-License-Identifier: Apache-2.0 */
/* A format: turns the model into bytes. A writer sees only the model. */
#ifndef WRITE_WRITER_H
#define WRITE_WRITER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/outfile.h"
#include "profile/profile.h"

struct writer {
	const char *name; /* "pprof" */
	/* Writes, does not commit. cancel (may be NULL) turning true ends it with -ECANCELED. */
	int (*write)(const struct profile *p, struct outfile *out, const atomic_bool *cancel,
		     struct pa_error *err);
};

/* gzip-compressed profile.proto: every thing of the model, its number plus 1 as its id. Bytes of
 * names that are not UTF-8 become U+FFFD, for the format promises UTF-8. */
extern const struct writer writer_pprof;

/*
 * comm;root;…;leaf count
 *
 * One line per different text, sorted by its bytes before the count, which is the sum of values[0].
 * comm is the label "comm", "[unknown]" without one. A frame is the name of a function (inlined
 * ones are frames of their own, outermost first), else "0x" and the address. In names, ';' becomes
 * ':', each control character '?', and each byte that is not UTF-8 U+FFFD; the count follows the
 * last space of the line. No samples give an empty file.
 */
extern const struct writer writer_folded;

#endif
