/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rules.h"

#include <string.h>
#include <unistd.h>

#include "cli/optparse.h"

#define TARGET_FLAGS "--pid, -a/--all or -- COMMAND"

int rules_stray_argument(const char *arg)
{
	if (!strcmp(arg, "doctor"))
		return usage_error("doctor", "must be the first argument; write %s",
				   "perf-agent doctor [--pid N]");
	return usage_error(arg, "stray argument; a command to run goes after --");
}

static int check_command(const struct options *o)
{
	if (o->command && !o->command[0])
		return usage_error("--",
				   "a command is required after it; write -- COMMAND [ARG...]");
	if (o->command && !o->command[0][0])
		return usage_error("--", "the command is empty; write -- COMMAND [ARG...]");
	return 0;
}

static int check_target(const struct options *o)
{
	const char *what = NULL;

	if (o->nr_pids && o->all)
		what = "--pid and -a/--all";
	else if (o->nr_pids && o->command)
		what = "--pid and -- COMMAND";
	else if (o->all && o->command)
		what = "-a/--all and -- COMMAND";
	if (what)
		return usage_error(what, "mutually exclusive; give one of " TARGET_FLAGS);
	if (!o->nr_pids && !o->all && !o->command)
		return usage_error(TARGET_FLAGS, "one of them is required; name what to profile");
	return 0;
}

static int check_what_to_record(const struct options *o)
{
	if (o->profile || o->command)
		return 0;
	return usage_error(o->all ? "--all" : "--pid",
			   "at least one of --profile is required with it; add --profile");
}

static int check_follow(const struct options *o)
{
	if (o->follow_children && o->no_follow_children)
		return usage_error("--follow-children and --no-follow-children",
				   "mutually exclusive; give one of them");
	if (o->all && (o->follow_children || o->no_follow_children))
		return usage_error(o->follow_children ? "--follow-children"
						      : "--no-follow-children",
				   "has no meaning with -a/--all, which covers every process; "
				   "leave it out");
	return 0;
}

/* What is about fetching means nothing where nothing is fetched. */
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

static bool is_same_place(const char *a, const char *b)
{
	return a && b && !strcmp(a, b) && strcmp(a, "/dev/null");
}

/* Two outputs at one place would be one unreadable mixture or one lost file. */
static int check_outputs(const struct options *o)
{
	const char *json = o->json ? o->json_path ? o->json_path : "-" : NULL;

	if (is_same_place(o->profile_output, o->folded_output))
		return usage_error("--folded-output", "'%s' is --profile-output already; %s",
				   o->folded_output, "give another path");
	if (is_same_place(o->profile_output, json))
		return usage_error("--json", "'%s' is --profile-output already; %s", json,
				   "give another path as --json=PATH");
	if (is_same_place(o->folded_output, json))
		return usage_error("--json", "'%s' is --folded-output already; %s", json,
				   "give another path as --json=PATH");
	return 0;
}

/* Compressed bytes would do to a terminal whatever they happen to say. */
static int check_terminal(const struct options *o)
{
	if (!o->profile_output || strcmp(o->profile_output, "-") != 0 || !isatty(STDOUT_FILENO))
		return 0;
	return usage_error("--profile-output", "standard output is a terminal, and a profile is "
					       "no text; redirect it (>FILE, |) or give a file");
}

int rules_check(const struct options *o)
{
	int r = check_target(o);

	if (r == 0)
		r = check_command(o);
	if (r == 0)
		r = check_what_to_record(o);
	if (r == 0)
		r = check_follow(o);
	if (r == 0)
		r = check_symbols(o);
	if (r == 0)
		r = check_outputs(o);
	if (r == 0)
		r = check_terminal(o);
	if (r == 0 && o->quiet && o->verbosity)
		r = usage_error("--quiet and --verbose", "mutually exclusive; give one of them");
	return r;
}

void rules_fill_defaults(struct options *o)
{
	o->profile = true;
	if (!o->duration_ns && !o->command)
		o->duration_ns = OPTIONS_DEFAULT_DURATION_NS;
	if (!o->sample_rate_hz)
		o->sample_rate_hz = OPTIONS_DEFAULT_RATE_HZ;
}
