/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_PA_PROFILE_H
#define AGENT_PA_PROFILE_H

#include "agent/file_summary.h"

struct pa_profile {
	char *path;              /* owned */
	struct profile *profile; /* owned; count_type and shown_type select what is analyzed */
	struct file_summary summary;
};

/* What was profiled, according to the file, otherwise the file's name; NULL: standard input. */
const char *pa_profile_title(const struct pa_profile *p);

/* Copies an output of the caller, checks it, and finds its writer. */
struct writer;
int pa_profile_take_output(const struct pa_output *from, struct pa_output *to,
			   const struct writer **ret_writer, struct pa_error *err);

/* Opens the file of an output by the rules of pa_file_open(). */
struct outfile;
int pa_profile_open_output(const struct pa_output *output, const struct pa_file_options *opts,
			   struct outfile **ret_file, struct pa_error *err);

#endif
