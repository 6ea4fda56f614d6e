/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rules.h"

#include <string.h>
#include <unistd.h>

#include "cli/optparse.h"
#include "cli/perf_words.h"
#include "cli/subcommands.h"

#define TARGET_FLAGS "--pid, --tid, --user, --cgroup, -a/--all or COMMAND"
#define TARGET_PAIR_SIZE 32

/* A file that this program has written, as its name says. */
static bool is_profile_name(const char *word)
{
	static const char *const suffixes[] = { ".pb.gz", ".pb" };
	size_t len = strlen(word);

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t n = strlen(suffixes[i]);

		if (len > n && !strcmp(word + len - n, suffixes[i]))
			return true;
	}
	return false;
}

int rules_check_first_word(const char *word)
{
	const char *advice = perf_words_subcommand(word);

	if (subcommand_find(word))
		return usage_error(word, "must be the first argument; write perf-agent %s %s", word,
				   subcommand_find(word)->arguments);
	if (advice)
		return usage_error(word, "no such subcommand; %s", advice);
	if (is_profile_name(word))
		return usage_error(word, "a profile is not a command; write perf-agent report %s",
				   word);
	if (*word && !word[strspn(word, "0123456789,")])
		return usage_error(word, "a number is not a command; write -p %s to profile %s",
				   word, "a process");
	return 0;
}

static int check_command(const struct options *o)
{
	if (o->command && !o->command[0])
		return usage_error("--",
				   "a command is required after it; write -- COMMAND [ARG...]");
	if (o->command && !o->command[0][0])
		return usage_error("COMMAND", "the command is empty; write COMMAND [ARG...]");
	return 0;
}

/* Checks that exactly one way is used to say what to profile. */
static int check_target(const struct options *o)
{
	const struct {
		const char *flag;
		bool is_given;
	} ways[] = {
		{ "--pid", o->nr_pids || o->nr_names },
		{ "--tid", o->nr_tids },
		{ "--user", o->user_text },
		{ "--cgroup", o->cgroup },
		{ "-a/--all", o->all },
		{ "COMMAND", o->command },
	};
	const char *first = NULL, *second = NULL;
	char what[TARGET_PAIR_SIZE];

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (ways[i].is_given && first)
			second = ways[i].flag;
		else if (ways[i].is_given)
			first = ways[i].flag;
	if (!first)
		return usage_error(TARGET_FLAGS, "one of them is required; name what to profile");
	if (!second)
		return 0;
	(void)snprintf(what, sizeof(what), "%s and %s", first, second);
	if (o->command && o->command[0] && !strcmp(o->command[0], "sleep"))
		return usage_error(what, "mutually exclusive; to profile for a time, write %s",
				   "-d SECONDS instead of sleep");
	if (o->command && o->command[0])
		return usage_error(what,
				   "mutually exclusive, and '%s' is a command; give one of %s",
				   o->command[0], TARGET_FLAGS);
	return usage_error(what, "mutually exclusive; give one of " TARGET_FLAGS);
}

/* The selection that already determines the children; NULL: none does. */
static const char *target_without_children(const struct options *o)
{
	if (o->all)
		return "-a/--all, which covers every process";
	if (o->nr_tids)
		return "--tid, which covers only these threads";
	if (o->user_text)
		return "--user, which covers every process of the user";
	return o->cgroup ? "--cgroup, which covers every process in the cgroup" : NULL;
}

static int check_follow(const struct options *o)
{
	const char *target = target_without_children(o);

	if (!target || !(o->follow_children || o->no_follow_children))
		return 0;
	return usage_error(o->follow_children ? "--follow-children" : "--no-follow-children",
			   "has no meaning with %s; leave it out", target);
}

/* Options about fetching require that something is fetched. */
static int check_symbols(const struct options *o)
{
	const char *what = NULL;

	if (o->nr_urls)
		return 0;
	if (o->symbol_fail_closed)
		what = "--symbol-fail-closed";
	else if (o->symbol_cache_dir)
		what = "--symbol-cache-dir";
	else if (o->symbol_cache_max_bytes)
		what = "--symbol-cache-max";
	else if (o->symbol_fetch_timeout_ns)
		what = "--symbol-fetch-timeout";
	if (!what)
		return 0;
	return usage_error(what, "nothing is fetched without a server; add %s",
			   "--debuginfod-url, or set DEBUGINFOD_URLS");
}

/* What is about a profile means nothing without one. */
static int check_profile(const struct options *o)
{
	const struct {
		const char *flag;
		bool is_given;
	} flags[] = {
		{ "--sample-rate", o->sample_rate_hz },
		{ "--event", o->event },
		{ "--unwind", o->unwind },
		{ "--kernel-stacks", o->kernel_stacks },
		{ "--inject-python", o->inject_python },
		{ "--profile-output", o->profile_output },
		{ "--folded-output", o->folded_output },
		{ "--perf-data-output", o->perf_data_output },
		{ "--flamegraph-output", o->flamegraph_output },
		{ "--tag", o->nr_tags },
		{ "--sort", o->sort },
		{ "--top", o->top },
		{ "--symbol-fail-closed", o->symbol_fail_closed },
		{ "--symbol-cache-dir", o->symbol_cache_dir },
		{ "--symbol-cache-max", o->symbol_cache_max_bytes },
		{ "--symbol-fetch-timeout", o->symbol_fetch_timeout_ns },
		{ "--debuginfod-url", o->has_url },
	};

	for (size_t i = 0;
	     o->pmu && !o->profile && !o->offcpu && i < sizeof(flags) / sizeof(flags[0]); i++)
		if (flags[i].is_given)
			return usage_error(flags[i].flag, "has no meaning without a profile; %s",
					   "add --profile, or leave it out");
	return 0;
}

static int check_pmu(const struct options *o)
{
	if (o->per_pid && !o->pmu)
		return usage_error("--per-pid", "only valid with --pmu; add it");
	if (o->per_pid && !o->all)
		return usage_error("--per-pid requires -a/--all",
				   "it lists the processes of the whole machine; add -a");
	if (o->pmu_output && !o->pmu)
		return usage_error("--pmu-output", "only valid with --pmu; add it");
	return 0;
}

static int check_only_offcpu(const struct options *o)
{
	const struct {
		const char *flag;
		bool is_given;
		const char *problem, *advice;
	} flags[] = {
		{ "--profile-output", o->profile_output, "is for the on-CPU profile",
		  "add --profile, or write --offcpu-output" },
		{ "--perf-data-output", o->perf_data_output, "has no meaning without --profile",
		  "it holds on-CPU samples only" },
		{ "--sample-rate", o->sample_rate_hz, "has no meaning without --profile",
		  "time off the CPU is measured, not sampled" },
		{ "--event", o->event, "has no meaning without --profile",
		  "time off the CPU is measured, not sampled" },
		{ "--inject-python", o->inject_python, "needs --profile", "add it" },
		{ "--sort", o->sort, "has no meaning without --profile",
		  "waits are listed by their total time" },
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (flags[i].is_given)
			return usage_error(flags[i].flag, "%s; %s", flags[i].problem,
					   flags[i].advice);
	return 0;
}

/* What is about one kind of profile means nothing where that is not asked for. */
static int check_offcpu(const struct options *o)
{
	const char *off = o->offcpu_output   ? "--offcpu-output"
			  : o->offcpu_states ? "--offcpu-states"
			  : o->has_min_block ? "--min-block"
					     : NULL;

	if (off && !o->offcpu)
		return usage_error(off, "has no meaning without --offcpu; add it");
	return o->offcpu && !o->profile ? check_only_offcpu(o) : 0;
}

/* The rest of a path from its next component on, past slashes and ".". */
static const char *next_component(const char *s)
{
	while (*s == '/' || (*s == '.' && (s[1] == '/' || !s[1])))
		s++;
	return s;
}

/* True if the paths differ at most in "./" and doubled slashes. The library compares the files that paths
 * lead to when it opens them. */
static bool is_same_path(const char *a, const char *b)
{
	size_t n;

	if ((*a == '/') != (*b == '/'))
		return false;
	do {
		a = next_component(a);
		b = next_component(b);
		n = strcspn(a, "/");
		if (n != strcspn(b, "/") || strncmp(a, b, n) != 0)
			return false;
		a += n;
		b += n;
	} while (n);
	return true;
}

static bool is_same_place(const char *a, const char *b)
{
	return a && b && is_same_path(a, b) && strcmp(a, "/dev/null");
}

/* Two outputs at one path would be mixed or lost. */
static int check_pmu_output(const struct options *o, const char *json)
{
	const char *pmu = options_pmu_path(o);
	const struct {
		const char *flag, *path;
	} others[] = {
		{ "--profile-output", o->profile_output },
		{ "--folded-output", o->folded_output },
		{ "--perf-data-output", o->perf_data_output },
		{ "--flamegraph-output", o->flamegraph_output },
		{ "--json", json },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (is_same_place(others[i].path, pmu))
			return usage_error(others[i].flag, "'%s' is where --pmu writes already; %s",
					   pmu, "give another path, or --pmu-output PATH");
	return 0;
}

static int check_outputs(const struct options *o)
{
	const char *json = o->json ? o->json_path ? o->json_path : "-" : NULL;
	const struct {
		const char *flag, *path, *advice;
	} outputs[] = {
		{ "--profile-output", o->profile_output, "give another path" },
		{ "--offcpu-output", o->offcpu_output, "give another path" },
		{ "--folded-output", o->folded_output, "give another path" },
		{ "--perf-data-output", o->perf_data_output, "give another path" },
		{ "--flamegraph-output", o->flamegraph_output, "give another path" },
		{ "--json", json, "give another path as --json=PATH" },
	};

	for (size_t i = 1; i < sizeof(outputs) / sizeof(outputs[0]); i++)
		for (size_t k = 0; k < i; k++)
			if (is_same_place(outputs[k].path, outputs[i].path))
				return usage_error(outputs[i].flag, "'%s' is %s already; %s",
						   outputs[i].path, outputs[k].flag,
						   outputs[i].advice);
	return check_pmu_output(o, json);
}

/* The pprof file is compressed whatever it is called; with the suffix of another format no program would open it. */
static int check_suffix(const struct options *o)
{
	static const struct {
		const char *suffix, *advice;
	} others[] = {
		{ ".html", "--flamegraph-output" },
		{ ".folded", "--folded-output" },
		{ ".data", "--perf-data-output" },
		{ ".json", "--json=" },
	};
	const char *path = o->profile_output ? o->profile_output : "";
	const char *suffix = strrchr(path, '.');

	for (size_t i = 0; suffix && i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(suffix, others[i].suffix))
			return usage_error("--profile-output",
					   "'%s' would be a pprof file; write %s%s%s", path,
					   others[i].advice,
					   strchr(others[i].advice, '=') ? "" : " ", path);
	return 0;
}

static bool is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

/* Compressed data must not go to a terminal. */
static int check_terminal(const struct options *o)
{
	const char *flag = is_stdout(o->profile_output)  ? "--profile-output"
			   : is_stdout(o->offcpu_output) ? "--offcpu-output"
							 : NULL;

	if (!flag || !isatty(STDOUT_FILENO))
		return 0;
	return usage_error(flag, "standard output is a terminal, and a profile is not text; "
				 "redirect it (>FILE, |) or give a file");
}

int rules_check(const struct options *o)
{
	int r = check_target(o);

	if (r == 0)
		r = check_command(o);
	if (r == 0)
		r = check_follow(o);
	if (r == 0)
		r = check_pmu(o);
	if (r == 0)
		r = check_profile(o);
	if (r == 0)
		r = check_symbols(o);
	if (r == 0)
		r = check_offcpu(o);
	if (r == 0)
		r = check_outputs(o);
	if (r == 0)
		r = check_suffix(o);
	if (r == 0)
		r = check_terminal(o);
	return r;
}

void rules_fill_defaults(struct options *o)
{
	if (!o->pmu && !o->offcpu)
		o->profile = true;
	if (!o->has_duration && !o->command)
		o->duration_ns = OPTIONS_DEFAULT_DURATION_NS;
	if (!o->sample_rate_hz)
		o->sample_rate_hz = OPTIONS_DEFAULT_RATE_HZ;
}
