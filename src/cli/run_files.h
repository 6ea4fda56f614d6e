/* SPDX-License-Identifier: Apache-2.0 */
/* `perf-agent report` and `perf-agent convert`: profiles that are in files. */
#ifndef CLI_RUN_FILES_H
#define CLI_RUN_FILES_H

#include <perfagent/perfagent.h>

/* argv[0] is the subcommand. Each returns the exit status. */
int run_report(int argc, char *argv[]);
int run_convert(int argc, char *argv[]);

/* Reads a profile. NULL, after an error was printed, if it fails. */
struct file_options;
struct pa_profile *run_files_read(const struct file_options *o, const char *path);

/* The options for files that are written: they belong to the user who called sudo. */
struct pa_file_options run_files_owned(void);

/* Prints a message of the library, which has the cause and the fix. Returns the exit status. */
int run_files_failed(int r, const struct pa_error *err);

#endif
