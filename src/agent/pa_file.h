/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_PA_FILE_H
#define AGENT_PA_FILE_H

#include "base/outfile.h"

struct pa_file_options;

/* Copies the options that this library knows from opts (may be NULL); the rest must be zero,
 * otherwise -EINVAL. */
int pa_file_take_options(const struct pa_file_options *opts, struct outfile_options *ret_options);

#endif
