/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of `report`, `convert` and `diff`, parsed and checked; no file is accessed here. */
#ifndef CLI_FILE_OPTIONS_H
#define CLI_FILE_OPTIONS_H

#include "cli/options.h"

#define FILE_OPTIONS_MAX_PATHS 2
#define FILE_OPTIONS_NO_LIMIT (-1.0)

struct file_options {
	enum options_action action; /* must be first: see handle_help() */
	const char *paths[FILE_OPTIONS_MAX_PATHS];
	size_t nr_paths;
	const char *value_type; /* NULL: the library's choice */
	const char *label;      /* from --by; NULL: none */
	enum report_sort sort;
	unsigned int top; /* 0: the default */
	bool verbose;
	const char *output; /* NULL: none */
	const char *format; /* of the output: as given, otherwise by its suffix */
	double fail_over_percent;
};

/* Each returns 0, or a negative errno after the error was printed. argv[0] is the subcommand. */
int file_options_report(int argc, char *argv[], struct file_options *ret_options);
int file_options_convert(int argc, char *argv[], struct file_options *ret_options);
int file_options_diff(int argc, char *argv[], struct file_options *ret_options);

/* Prints the help of the subcommand. */
void file_options_help(const char *subcommand, FILE *out);

#endif
