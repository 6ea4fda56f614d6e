/* SPDX-License-Identifier: Apache-2.0 */
/* The text report of a capture: where the time was spent, on the first screen. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <perfagent/perfagent.h>
#include <stdio.h>

enum report_sort {
	REPORT_SORT_BOTH = 0, /* a short list by self time, and one by total time */
	REPORT_SORT_SELF,
	REPORT_SORT_TOTAL,
};

struct report_options {
	uint32_t max_cols; /* of the terminal; TEXT_NO_LIMIT: the output is not a terminal */
	bool is_verbose;   /* longer lists, and all accounts */
	enum report_sort sort;
	/* rows of each list of functions; 0: as many as the list has by default */
	unsigned int top;
	bool shows_label;      /* for a file: the table by label was requested */
	const char *json_path; /* borrowed; the summary was written there; NULL: nowhere */
	size_t json_size_bytes;
};

void report_print(const struct pa_summary *s, const struct report_options *opts, FILE *out);

/* As report_print(), for a profile that was read from a file: without what only a capture knows. */
void report_print_file(const struct pa_summary *s, const struct report_options *opts, FILE *out);

#endif
