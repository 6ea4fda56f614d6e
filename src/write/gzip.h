/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses a stream into a file, with a fixed amount of memory. Equal input gives equal output:
 * the header contains neither time nor name. */
#ifndef WRITE_GZIP_H
#define WRITE_GZIP_H

#include "base/outfile.h"

struct gzip;

/* out is borrowed until gzip_free(). */
int gzip_new(struct outfile *out, struct gzip **ret_gzip, struct pa_error *err);

int gzip_write(struct gzip *g, const void *bytes, size_t n, struct pa_error *err);

/* Writes the rest and the trailer. Afterwards, or after a failure, only gzip_free() is allowed. */
int gzip_finish(struct gzip *g, struct pa_error *err);

/* Accepts NULL. Does not write anything. */
struct gzip *gzip_free(struct gzip *g);
DEFINE_CLEANUP(struct gzip *, gzip_free)

#endif
