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

extern const struct writer writer_pprof;  /* gzip-compressed profile.proto */
extern const struct writer writer_folded; /* comm;root;…;leaf count */

#endif
