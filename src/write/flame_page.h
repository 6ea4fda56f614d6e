/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page for a browser: flame graph and table of functions of one or more profiles. One file that
 * needs no network. Text of a profile is data in it, never markup: names are cleaned as in every
 * output, written as JSON without '<', and drawn as text; the page's policy runs its own script
 * alone. The form of the data: docs/flame-graph.md.
 */
#ifndef WRITE_FLAME_PAGE_H
#define WRITE_FLAME_PAGE_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/outfile.h"
#include "profile/profile.h"

#define FLAME_MAX_VIEWS 16

/* One of the profiles between which the page switches. */
struct flame_view {
	const char *name; /* "on-cpu" */
	const struct profile *profile;
	/* What it is compared with: boxes are colored by growth, and the table has differences. NULL:
	 * nothing. */
	const struct profile *base;
};

/*
 * Writes, does not commit. title: what was profiled, any bytes; NULL: the program of the first
 * profile. cancel (may be NULL) turning true ends it with -ECANCELED. -EINVAL: no views, or more
 * than FLAME_MAX_VIEWS.
 */
int flame_page_write(const struct flame_view *views, size_t nr, const char *title,
		     struct outfile *out, const atomic_bool *cancel, struct pa_error *err);

#endif
