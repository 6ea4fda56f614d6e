/* SPDX-License-Identifier: Apache-2.0 */
/* The command line, parsed and checked; no process or file is accessed here. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <perfagent/perfagent.h>
#include <stdio.h>

#include "cli/report.h"
#include "http/listen_address.h"

#define OPTIONS_MAX_PIDS 1024 /* and of TIDs */
#define OPTIONS_MAX_NAMES 64
#define OPTIONS_NAMES_SIZE 4096
#define OPTIONS_MAX_TAGS 64
#define OPTIONS_MAX_URLS 32
#define OPTIONS_URLS_SIZE 4096
#define OPTIONS_DEFAULT_DURATION_NS 10000000000ull
#define OPTIONS_DEFAULT_RATE_HZ 99
#define OPTIONS_MAX_TOP 10000
#define OPTIONS_NO_MAX_LOST (-1.0)

enum options_action {
	OPTIONS_RUN = 0,
	OPTIONS_HELP = 1,
	OPTIONS_VERSION = 2,
};

/* If an option is repeated, the last one wins. Strings are borrowed from argv. */
struct options {
	enum options_action action; /* must be first: see option_def.clears, handle_help() */

	bool profile;
	bool offcpu;
	bool pmu;
	bool per_pid;
	bool all;
	bool follow_children; /* if neither this nor the opposite is given, children are followed */
	bool no_follow_children;
	char **command; /* NULL-terminated; NULL: none */
	pid_t pids[OPTIONS_MAX_PIDS];
	size_t nr_pids;
	const char *names[OPTIONS_MAX_NAMES]; /* process names, in addition to pids */
	size_t nr_names;
	char names_text[OPTIONS_NAMES_SIZE]; /* storage of names */
	pid_t tids[OPTIONS_MAX_PIDS];
	size_t nr_tids;
	const char *user_text; /* as given; NULL: not selected by user */
	uid_t user;
	const char *cgroup;

	bool has_duration;    /* a duration was given */
	uint64_t duration_ns; /* 0: until the target ends, or Ctrl-C */
	unsigned int sample_rate_hz;
	enum pa_event event;
	enum pa_unwind unwind;
	bool kernel_stacks;
	bool inject_python;
	unsigned int offcpu_states; /* enum pa_off_cpu_state; 0: the library's choice */
	bool has_min_block;
	uint64_t min_block_ns;

	const char *profile_output; /* NULL: an automatic name */
	const char *offcpu_output;  /* NULL: an automatic name */
	bool no_profile_output;
	const char *folded_output;
	const char *perf_data_output;
	const char *flamegraph_output;
	const char *pmu_output; /* NULL: standard output; "auto": an automatic name */
	const char *tags[OPTIONS_MAX_TAGS];
	size_t nr_tags;
	bool json;
	const char *json_path; /* NULL: standard output */
	bool serves_metrics;
	struct listen_address metrics_address;

	bool has_url; /* a server was given as an option, not only in the environment */
	/* of debuginfod servers; if there are none, no network is used */
	const char *urls[OPTIONS_MAX_URLS];
	size_t nr_urls;
	char urls_text[OPTIONS_URLS_SIZE]; /* storage of urls that come from the environment */
	const char *symbol_cache_dir;      /* NULL: the library's default */
	uint64_t symbol_cache_max_bytes;   /* 0: the library's default */
	uint64_t symbol_fetch_timeout_ns;  /* 0: the library's default */
	bool symbol_fail_closed;
	bool kallsyms_only;
	const char *pod_name, *pod_namespace, *container_name; /* borrowed; NULL: not set */

	enum report_sort sort;
	unsigned int top; /* functions per list of the report; 0: the default */

	bool strict;
	double max_lost_percent; /* of the ticks due; OPTIONS_NO_MAX_LOST: no limit */
	bool quiet;
	unsigned int verbosity;
};

/* Returns 0, or a negative errno after the error was printed. argv is that of main(). */
int options_parse(int argc, char *argv[], struct options *ret_options);

/* `perf-agent doctor …`: argv[0] is "doctor". */
int options_parse_doctor(int argc, char *argv[], struct options *ret_options);

/* Where the scheduler statistics go: a path, "-", or "auto"; NULL: nowhere, because they are in the summary
 * that takes standard output. */
const char *options_pmu_path(const struct options *o);

/* The flag, without dashes, for the member of struct pa_options with this name of len bytes; NULL
 * if there is none. */
const char *options_flag(const char *member, size_t len);

/* Prints the beginning of the help, with examples. */
void options_usage(FILE *out);
void options_help(FILE *out);
void options_help_doctor(FILE *out);

#endif
