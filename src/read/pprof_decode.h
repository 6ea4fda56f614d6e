/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads profile.proto of any program into the model. The bytes are untrusted: every length, number
 * and reference is checked, and the memory of the model is limited.
 */
#ifndef READ_PPROF_DECODE_H
#define READ_PPROF_DECODE_H

#include <stddef.h>

#include "base/error.h"
#include "profile/profile.h"

/* With the file's bytes (PPROF_INPUT_MAX_BYTES), a table that grows, and what is computed of the model
 * afterwards, about 1.5 GiB. */
#define PPROF_MAX_MODEL_BYTES (768u << 20)
/* Of names, as often as they are used: about what folded stacks would have. It limits the time of all who
 * read the model and the size of what they write. A million stacks of 100 frames have some 5 GiB. */
#define PPROF_MAX_TEXT_BYTES (8ull << 30)
#define PPROF_MAX_TYPES 64
#define PPROF_MAX_STRING_BYTES (128u << 10) /* names of large C++ templates have some 10 KiB */

/*
 * n bytes that are not compressed, as of pprof_input_read(). name is that of the file, for messages. The model
 * has no more than max_model_bytes of memory, but for reserves of growing arrays.
 *
 * The model has a mapping for each of the file, also for one without addresses; locations that have the same
 * address remain separate. Functions belong to the mapping of their location. Types are in the order of the
 * file; all three chosen ones are its default, or the last if it has none. A location has a symbol unless its
 * function's name is only an address ("0x4f0", "libz+0x4f0"), as in files of this program. No value is
 * negative, and the sum of each type fits into 64 bits. -EBADMSG: not a valid profile; -EINVAL: a difference
 * of two profiles; -E2BIG: beyond a limit; -ENOMEM.
 */
int pprof_decode(const void *bytes, size_t n, size_t max_model_bytes, const char *name,
		 struct profile **ret_profile, struct pa_error *err);

#endif
