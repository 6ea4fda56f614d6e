/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line asks for, read and checked; nothing here touches a process or a file. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <perfagent/perfagent.h>
#include <stdio.h>

#define OPTIONS_MAX_PIDS 1024
#define OPTIONS_MAX_TAGS 64
#define OPTIONS_MAX_URLS 32
#define OPTIONS_URLS_SIZE 4096
#define OPTIONS_DEFAULT_DURATION_NS 10000000000ull
#define OPTIONS_DEFAULT_RATE_HZ 99

enum options_action {
	OPTIONS_RUN = 0,
	OPTIONS_HELP = 1,
	OPTIONS_VERSION = 2,
};

/* Strings are borrowed from argv. */
struct options {
	enum options_action action;

	bool profile;
	bool all;
	bool follow_children; /* as given; neither is the default, which is to follow */
	bool no_follow_children;
	char **command; /* NULL-terminated; NULL: none */
	pid_t pids[OPTIONS_MAX_PIDS];
	size_t nr_pids;

	uint64_t duration_ns; /* 0: until the target ends */
	unsigned int sample_rate_hz;
	enum pa_event event;
	enum pa_unwind unwind;
	bool kernel_stacks;

	const char *profile_output; /* NULL: an automatic name */
	const char *folded_output;
	const char *tags[OPTIONS_MAX_TAGS];
	size_t nr_tags;
	bool json;
	const char *json_path; /* NULL: standard output */

	const char *urls[OPTIONS_MAX_URLS]; /* of debuginfod servers; none: no network */
	size_t nr_urls;
	char urls_text[OPTIONS_URLS_SIZE]; /* what urls of the environment point into */
	const char *symbol_cache_dir;      /* NULL: the library's choice */
	uint64_t symbol_cache_max_bytes;   /* 0: likewise */
	uint64_t symbol_fetch_timeout_ns;  /* 0: likewise */
	bool symbol_fail_closed;

	bool strict;
	bool quiet;
	unsigned int verbosity;
};

/* 0, or a negative errno when the mistake was told on stderr. argv is that of main(). */
int options_parse(int argc, char *argv[], struct options *ret_options);

/* `perf-agent doctor …`: argv[0] is "doctor". */
int options_parse_doctor(int argc, char *argv[], struct options *ret_options);

void options_help(FILE *out);
void options_help_doctor(FILE *out);

#endif
