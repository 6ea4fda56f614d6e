/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers text on its way into a file. The first failure is kept and ends all writing, so that
 * callers need not check each piece: what they still write costs next to nothing. */
#ifndef WRITE_TEXT_OUT_H
#define WRITE_TEXT_OUT_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/outfile.h"

#define TEXT_OUT_BYTES 65536u

struct text_out {
	struct outfile *file;      /* borrowed, like the next two */
	const atomic_bool *cancel; /* may be NULL */
	struct pa_error *err;
	int result; /* 0, or the first failure, which *err describes */
	size_t nr;  /* bytes not written yet */
	char bytes[TEXT_OUT_BYTES];
};

void text_out_init(struct text_out *t, struct outfile *file, const atomic_bool *cancel,
		   struct pa_error *err);

void text_out_bytes(struct text_out *t, const char *bytes, size_t n);
void text_out_text(struct text_out *t, const char *s);
void text_out_number(struct text_out *t, int64_t n);

/* Writes a JSON string of well-formed UTF-8. '<', '>' and '&' are escaped: inside an HTML page the
 * string can neither end an element nor begin a comment. */
void text_out_json(struct text_out *t, const char *s);

/* Writes what is left in the buffer, and returns the result. */
int text_out_flush(struct text_out *t);

#endif
