/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTML page with a flame graph and a table of functions for one or more profiles, in one file
 * that loads nothing from the network. Text of a profile is always data, never markup: names are
 * cleaned as in every output, written as JSON without '<', and drawn as text; the page's content
 * security policy allows only its own script. docs/flame-graph.md describes the format of the data.
 */
#ifndef WRITE_FLAME_PAGE_H
#define WRITE_FLAME_PAGE_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/outfile.h"
#include "profile/profile.h"

#define FLAME_MAX_VIEWS 16

/* One of the profiles that a user of the page can choose. */
struct flame_view {
	const char *name; /* "on-cpu" */
	const struct profile *profile;
	/* The profile to compare with: boxes are colored by growth, and the table has differences.
	 * NULL: none. */
	const struct profile *base;
};

/*
 * Writes without committing. title: what was profiled, any bytes; NULL: the program of the first
 * profile. When cancel (may be NULL) becomes true, the result is -ECANCELED. -EINVAL: no views, or
 * more than FLAME_MAX_VIEWS.
 */
int flame_page_write(const struct flame_view *views, size_t nr, const char *title,
		     struct outfile *out, const atomic_bool *cancel, struct pa_error *err);

#endif
