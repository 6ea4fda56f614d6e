/* SPDX-License-Identifier: Apache-2.0 */
/* An output format: writes a model as bytes. A writer depends on nothing but the model. */
#ifndef WRITE_WRITER_H
#define WRITE_WRITER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/outfile.h"
#include "profile/profile.h"
#include "write/flame_page.h"

struct writer {
	const char *name;   /* "pprof" */
	const char *suffix; /* file name suffix: ".pb.gz" */
	bool has_labels;    /* shows all labels of samples, whatever their keys */
	/* Writes without committing. When cancel (may be NULL) becomes true, the result is
	 * -ECANCELED. */
	int (*write)(const struct profile *p, struct outfile *out, const atomic_bool *cancel,
		     struct pa_error *err);
	/* Writes all profiles of a capture into one file; NULL: each profile has a file of its
	 * own. */
	int (*write_all)(const struct flame_view *views, size_t nr, const char *title,
			 struct outfile *out, const atomic_bool *cancel, struct pa_error *err);
};

/* gzip-compressed profile.proto; the ID of each object is its number in the model plus 1. Bytes of
 * names that are not UTF-8 become U+FFFD, because the format requires UTF-8. */
extern const struct writer writer_pprof;

/*
 * comm;root;…;leaf count
 *
 * One line per different text, sorted by its bytes before the count, which is the sum of the
 * values of the model's shown_type.
 * comm is the label "comm", "[unknown]" without one. A frame is the name of a function (inlined
 * ones are frames of their own, outermost first), else "0x" and the address. In names, ';' becomes
 * ':', each control character '?', and each byte that is not UTF-8 U+FFFD; the count follows the
 * last space of the line. No samples give an empty file.
 */
extern const struct writer writer_folded;

/* An HTML page: write/flame_page.h. */
extern const struct writer writer_flame_page;

/* The available formats: by number, from 0, and by name; NULL if there is none. */
const struct writer *writer_get(size_t i);
const struct writer *writer_find(const char *name);

#endif
