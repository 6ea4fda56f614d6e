/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a pprof file: read from a descriptor and, if they are gzip, decompressed. */
#ifndef READ_PPROF_INPUT_H
#define READ_PPROF_INPUT_H

#include "base/buf.h"
#include "base/error.h"

/* After decompression. A profile of a million distinct stacks has about 100 MiB. */
#define PPROF_INPUT_MAX_BYTES (512u << 20)
/* The outermost ones, which are read once for each kind of thing. A model of that many things would be beyond
 * its limit; fields that are none have two bytes each, and some thousand times less in gzip. */
#define PPROF_INPUT_MAX_FIELDS (16u << 20)

/*
 * Appends them to `to`, an empty buffer whose maximum bounds the memory. The sequence of the outermost fields
 * is checked while bytes arrive, so that gigabytes of something else are refused after the first few; their
 * contents are not. name is that of the file, for messages. -EBADMSG: not a profile, or truncated; -E2BIG.
 */
int pprof_input_read(int fd, const char *name, struct buf *to, struct pa_error *err);

#endif
