/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the library name members of pa_options; users know the command-line flags. */
#ifndef CLI_FLAG_NAMES_H
#define CLI_FLAG_NAMES_H

#define FLAG_NAMES_SIZE 1024

/* Copies text, with "--pid" for each "pa_options.pids" and "'perf-agent doctor'" for
 * "pa_doctor() or perf-agent doctor".
 * Members without a flag keep their names, and what is in quotes is not changed: it may be a path
 * of a target. Truncates what does not fit. Returns to. */
const char *flag_names(const char *text, char to[FLAG_NAMES_SIZE]);

#endif
