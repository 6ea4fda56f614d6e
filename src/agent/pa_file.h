/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_PA_FILE_H
#define AGENT_PA_FILE_H

#include "base/outfile.h"
#include "base/sized.h"

/* A structure of the first version ends before the kind. */
#define PA_FILE_OUTPUT_MIN_BYTES SIZED_UP_TO(struct pa_output, path)

struct pa_file_options;

/* Copies the options that this library knows from opts (may be NULL); the rest must be zero,
 * otherwise -E2BIG. -EINVAL: their size is wrong. */
int pa_file_take_options(const struct pa_file_options *opts, struct outfile_options *ret_options,
			 struct pa_error *err);

/* Copies an output of the caller by these rules; messages call it `what`; its pointers remain the caller's. */
int pa_file_copy_output(const struct pa_output *from, struct pa_output *to, const char *what,
			struct pa_error *err);

/* What takes the bytes of an output other than a path: a descriptor or a callback. */
static inline bool pa_file_has_target(const struct pa_output *output)
{
	return output->write || output->use_fd;
}

/* Opens an output: its target, or else the path. */
int pa_file_open_output(const struct pa_output *output, const char *path,
			const struct outfile_options *opts, struct outfile **ret_file,
			struct pa_error *err);

/* -EINVAL: more than one of a path, a callback and a descriptor is given. */
int pa_file_check_output(const struct pa_output *output, const char *what, struct pa_error *err);

#endif
