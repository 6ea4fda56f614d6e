/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture saw, for people, on one screen. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <perfagent/perfagent.h>
#include <stdio.h>

struct report_options {
	uint32_t max_cols; /* of the terminal; TEXT_NO_LIMIT when there is none */
	bool is_verbose;   /* longer lists */
	bool is_system_wide;
	bool has_kernel_stacks;
	const char *json_path; /* borrowed; the summary was written there; NULL: nowhere */
	size_t json_size_bytes;
};

void report_print(const struct pa_summary *s, const struct report_options *opts, FILE *out);

#endif
