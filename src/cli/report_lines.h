/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a report: a label and wrapped text, the numbers of a table, two texts side by side. */
#ifndef CLI_REPORT_LINES_H
#define CLI_REPORT_LINES_H

#include "cli/report.h"

/* What the parts of a report print, and where; all borrowed. */
struct report_page {
	const struct pa_summary *s;
	const struct report_options *opts;
	FILE *out;
	/* rows of each table before the hot paths, unless the user requested a number */
	size_t max_rows;
};

/* "label    text", wrapped. */
__attribute__((format(printf, 3, 4))) void report_line(const struct report_page *p,
						       const char *label, const char *fmt, ...);

/* "text", wrapped, from the first column on. */
__attribute__((format(printf, 2, 3))) void report_sentence(const struct report_page *p,
							   const char *fmt, ...);

/* "text: why" below a label; if that is longer than a line, `why` has a line of its own. */
__attribute__((format(printf, 3, 4))) void report_line_with_why(const struct report_page *p,
								const char *why, const char *fmt,
								...);

/* "fix: text" below its subject; nothing for NULL and "". */
void report_fix(const struct report_page *p, const char *fix);

/* "12.3s", "4.56ms": three digits of it. Returns text. */
#define REPORT_TIME_SIZE 32
const char *report_brief_time(uint64_t ns, char text[REPORT_TIME_SIZE]);

/* The CPU seconds that a number of samples represents; false: the event does not measure time. */
bool report_cpu_s(const struct pa_summary *s, uint64_t nr_samples, double *ret_s);

/* The value that samples represent, in the unit of the first column of tables: seconds, or for a
 * file the unit of its values. Returns text. */
#define REPORT_AMOUNT_SIZE 40
const char *report_amount(const struct pa_summary *s, uint64_t value,
			  char text[REPORT_AMOUNT_SIZE]);

/* Whether values are numbers of something, "362 intervals", and not amounts, "12.5 MiB of inuse_space". */
bool report_is_count(const struct pa_summary *s);

/* The columns left for text after the numbers of a table. */
uint32_t report_columns_after(const struct report_page *p, uint32_t used);

/* True if a table has room for all of its columns. */
bool report_is_wide(const struct report_page *p);

/* Prints the heading of a table's first column: "cpu-s", or that of report_amount(). Returns its
 * width; 0 if there is no such column. */
uint32_t report_cpu_s_heading(const struct report_page *p);
uint32_t report_cpu_s_column(const struct report_page *p, uint64_t nr_samples);

/* The share of all samples as a column of a table. Returns its width. */
#define REPORT_SHARE_COLUMNS 7
uint32_t report_share_column(const struct report_page *p, uint64_t nr_samples);

/* Prints two texts of several lines side by side; right begins below the lines of left that are too
 * long. */
void report_beside(FILE *out, const char *left, const char *right);

/* The count with that name; 0 if the list does not have it. */
uint64_t report_count_of(const struct pa_count *counts, size_t nr, const char *name);

/* The account of clock ticks; NULL if no CPU was sampled by a clock. */
const struct pa_section *report_ticks(const struct pa_summary *s);

/* Whether the capture took samples at all, whatever became of them. */
bool report_has_profile(const struct pa_summary *s);

static inline size_t report_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

#endif
