/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a report; each is omitted if it has nothing to show. */
#ifndef CLI_REPORT_PARTS_H
#define CLI_REPORT_PARTS_H

#include "cli/report_lines.h"

/* What was profiled, for how long, where, and its CPU time. */
void report_head(const struct report_page *p);

/* Tables; each ends with an empty line. */
void report_commands(const struct report_page *p);
void report_functions(const struct report_page *p);
void report_paths(const struct report_page *p);

/* "name [file]" in at most cols columns; the name alone if there is hardly any room for the file. */
void report_function_name(const struct report_page *p, const struct pa_function_stat *f,
			  uint32_t cols);

/* Whether the function is part of what runs before a program's or a thread's own first function. */
bool report_is_start_code(const char *name);

/* Of two functions of generated code, NULL: not known. */
bool report_is_same_source(const char *a, const char *b);

/* Whether the lower function is below the upper one in the hot paths. */
bool report_paths_have_below(const struct pa_summary *s, const struct pa_function_stat *upper,
			     const struct pa_function_stat *lower);

void report_waits(const struct report_page *p);

/* Whether only off-CPU time was profiled. */
bool report_is_off_cpu(const struct pa_summary *s);

/* How long the targets were off the CPU. */
void report_off_cpu(const struct report_page *p);

/* How long the threads of targets existed, and what they did in that time. */
void report_threads(const struct report_page *p);

/* Where Python's own functions were switched on. */
void report_python(const struct report_page *p);

/* The files that were written. */
void report_outputs(const struct report_page *p);

/* The quality of the profile: complete stacks, resolved symbols, and how to improve it. */
void report_stacks(const struct report_page *p);
void report_symbols(const struct report_page *p);
void report_hints(const struct report_page *p);      /* for language runtimes */
void report_main_hints(const struct report_page *p); /* those that affect most of the samples */
bool report_is_main_hint(const struct pa_summary *s, const struct pa_hint *h);
void report_debug_files(const struct report_page *p);
void report_limits(const struct report_page *p);

/* What is missing: samples by reason, records, and files and processes that did not answer. */
void report_losses(const struct report_page *p);
void report_gaps(const struct report_page *p);
bool report_has_lost_much(const struct pa_summary *s);

/* What the agent itself did and used. */
void report_accounts(const struct report_page *p);
void report_overhead(const struct report_page *p);

#endif
