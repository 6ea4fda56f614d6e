/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of a profile that was read from a file. */
#ifndef AGENT_FILE_SUMMARY_H
#define AGENT_FILE_SUMMARY_H

#include <perfagent/perfagent.h>

#include "agent/summary.h"
#include "profile/profile.h"

#define FILE_MAX_UNNAMED 10
#define FILE_MAX_TRUNCATIONS 10

/* The summary, and the storage for it. Strings are borrowed from the profile or owned by texts. */
struct file_summary {
	struct pa_summary pub;
	struct summary_digest digest;
	struct pa_unnamed_stat unnamed[FILE_MAX_UNNAMED];
	struct pa_truncation_stat truncations[FILE_MAX_TRUNCATIONS];
	struct pa_label_stat *label_values; /* owned, like the next two */
	const char **value_types, **label_keys;
	struct strtab texts; /* texts that were composed */
};

/* The meaning of the values of count_type. */
struct file_values {
	bool are_samples; /* each stands for the sampling period of the profile */
	const char *path, *label;
	uint32_t max_functions;
};

/* -ENOENT: no sample has values->label. On failure, file_summary_done() is allowed. */
int file_summary_fill(struct file_summary *s, const struct profile *p,
		      const struct file_values *values);
void file_summary_done(struct file_summary *s);

#endif
