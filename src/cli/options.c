/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/duration.h"
#include "cli/optparse.h"
#include "cli/rules.h"

#define FIELD(name) offsetof(struct options, name)
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static int handle_flag(void *ctx, const struct option_def *def, const char *value)
{
	*(bool *)((char *)ctx + def->field) = true;
	return OPTPARSE_CONTINUE;
}

/* "-o --strict" is a forgotten path far more often than a file with such a name. */
static int handle_path(void *ctx, const struct option_def *def, const char *value)
{
	if (!strncmp(value, "--", 2))
		return option_error(def, "'%s' looks like an option; write ./%s if it is a file",
				    value, value);
	*(const char **)((char *)ctx + def->field) = value;
	return OPTPARSE_CONTINUE;
}

static int handle_json(void *ctx, const struct option_def *def, const char *value)
{
	struct options *o = ctx;

	if (o->json)
		return option_error(def, "given twice; give it once");
	o->json = true;
	if (value && strcmp(value, "-"))
		o->json_path = value;
	return OPTPARSE_CONTINUE;
}

/* Digits only, up to max, which must be less than UINT64_MAX / 10. */
static int parse_digits(const char *text, size_t len, uint64_t max, uint64_t *ret_value)
{
	uint64_t v = 0;

	if (len == 0 || strspn(text, "0123456789") < len)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		v = v * 10 + (uint64_t)(text[i] - '0');
		if (v > max)
			return -ERANGE;
	}
	*ret_value = v;
	return 0;
}

static int add_pid(struct options *o, const struct option_def *def, const char *text, size_t len)
{
	uint64_t pid;

	if (parse_digits(text, len, INT32_MAX, &pid) < 0 || pid == 0)
		return option_error(def, "'%.*s' is no process ID; give positive numbers, as in %s",
				    (int)len, text, "--pid 123,456");
	for (size_t i = 0; i < o->nr_pids; i++)
		if (o->pids[i] == (pid_t)pid)
			return option_error(def, "%d is given twice; name each process once",
					    (int)pid);
	if (o->nr_pids == OPTIONS_MAX_PIDS)
		return option_error(def, "more than %d processes; use --all instead",
				    OPTIONS_MAX_PIDS);
	o->pids[o->nr_pids++] = (pid_t)pid;
	return OPTPARSE_CONTINUE;
}

static int handle_pid(void *ctx, const struct option_def *def, const char *value)
{
	for (;;) {
		size_t len = strcspn(value, ",");
		int r = add_pid(ctx, def, value, len);

		if (r != OPTPARSE_CONTINUE || !value[len])
			return r;
		value += len + 1;
	}
}

static int handle_duration(void *ctx, const struct option_def *def, const char *value)
{
	uint64_t *ns = (uint64_t *)(void *)((char *)ctx + def->field);

	switch (duration_parse(value, ns)) {
	case 0:
		return OPTPARSE_CONTINUE;
	case -EDOM:
		return option_error(def, "must be greater than 0; give for example 10s");
	case -ERANGE:
		return option_error(def, "'%s' is too long; give less than 292 years", value);
	default:
		return option_error(def, "'%s' is no duration; write it like %s", value,
				    "10s, 250ms, 1m30s or 1h");
	}
}

static int handle_rate(void *ctx, const struct option_def *def, const char *value)
{
	struct options *o = ctx;
	long max_hz = pa_max_sample_rate();
	uint64_t hz;
	int r = parse_digits(value, strlen(value), UINT32_MAX, &hz);

	if (r == -EINVAL || (r == 0 && hz == 0))
		return option_error(def, "'%s' is no sample rate; give a whole number from 1",
				    value);
	if (max_hz <= 0)
		max_hz = INT32_MAX; /* unknown: starting the session finds out */
	if (r == -ERANGE || hz > (uint64_t)max_hz)
		return option_error(def, "%s is above the kernel's limit of %ld; %s", value, max_hz,
				    "give less or raise the sysctl "
				    "kernel.perf_event_max_sample_rate");
	o->sample_rate_hz = (unsigned int)hz;
	return OPTPARSE_CONTINUE;
}

/* Words that a flag knows, and what they mean; the field is an enum of the library's. */
static const struct option_choice event_choices[] = {
	{ "cpu-clock", PA_EVENT_CPU_CLOCK },
	{ "cycles", PA_EVENT_CYCLES },
	{ 0 },
};

static const struct option_choice unwind_choices[] = {
	{ "fp", PA_UNWIND_FP },
	{ "dwarf", PA_UNWIND_DWARF },
	{ "auto", PA_UNWIND_AUTO },
	{ 0 },
};

static int handle_choice(void *ctx, const struct option_def *def, const char *value)
{
	for (const struct option_choice *c = def->choices; c->word; c++) {
		if (strcmp(value, c->word) != 0)
			continue;
		memcpy((char *)ctx + def->field, &c->value, sizeof(c->value));
		return OPTPARSE_CONTINUE;
	}
	return option_error(def, "'%s' is unknown; give %s", value, def->choices_text);
}

static int handle_tag(void *ctx, const struct option_def *def, const char *value)
{
	struct options *o = ctx;
	size_t key_len = strcspn(value, "=");

	if (!value[key_len] || key_len == 0)
		return option_error(def, "'%s' is not of the form key=value; write --tag key=value",
				    value);
	for (size_t i = 0; i < o->nr_tags; i++)
		if (!strncmp(o->tags[i], value, key_len + 1))
			return option_error(def, "'%.*s' is given twice; give each key once",
					    (int)key_len, value);
	if (o->nr_tags == OPTIONS_MAX_TAGS)
		return option_error(def, "more than %d tags; leave some out", OPTIONS_MAX_TAGS);
	o->tags[o->nr_tags++] = value;
	return OPTPARSE_CONTINUE;
}

/* what: who names it. */
static int add_url(struct options *o, const char *what, const char *url)
{
	const char *mistake = pa_url_mistake(url);

	if (mistake)
		return usage_error(what,
				   "'%s' is no URL of a server: %s; write it like "
				   "https://debuginfod.elfutils.org",
				   url, mistake);
	if (o->nr_urls == OPTIONS_MAX_URLS)
		return usage_error(what, "more than %d servers; leave some out", OPTIONS_MAX_URLS);
	o->urls[o->nr_urls++] = url;
	return OPTPARSE_CONTINUE;
}

static int handle_url(void *ctx, const struct option_def *def, const char *value)
{
	return add_url(ctx, "--debuginfod-url", value);
}

/* 512M, 2G, 1048576: a number of bytes, or of units of 1024 of them. */
static int handle_size(void *ctx, const struct option_def *def, const char *value)
{
	static const char units[] = "KMGT";
	size_t len = strlen(value);
	const char *unit = len ? strchr(units, value[len - 1]) : NULL;
	unsigned int shift = unit ? 10 * (unsigned int)(unit - units + 1) : 0;
	uint64_t n;

	if (parse_digits(value, unit ? len - 1 : len, INT64_MAX >> shift, &n) < 0 || n == 0)
		return option_error(def, "'%s' is no size; write it like 512M, 2G or %s", value,
				    "a number of bytes");
	*(uint64_t *)(void *)((char *)ctx + def->field) = n << shift;
	return OPTPARSE_CONTINUE;
}

static int handle_verbose(void *ctx, const struct option_def *def, const char *value)
{
	((struct options *)ctx)->verbosity++;
	return OPTPARSE_CONTINUE;
}

static int handle_help(void *ctx, const struct option_def *def, const char *value)
{
	((struct options *)ctx)->action = OPTIONS_HELP;
	return OPTPARSE_STOP;
}

static int handle_version(void *ctx, const struct option_def *def, const char *value)
{
	((struct options *)ctx)->action = OPTIONS_VERSION;
	return OPTPARSE_STOP;
}

#define RECORD "What to record"
#define TARGET "Of which processes"
#define HOW "How"
#define NAMES "Names"
#define OUTPUT "Where it goes"
#define OTHER "Other"

static const struct option_def capture_defs[] = {
	{ "profile", .group = RECORD, .handle = handle_flag, .field = FIELD(profile),
	  .help = "on-CPU profile with stacks (implied by COMMAND)" },

	{ "pid", 'p', .arg = "N[,N...]", .is_repeatable = true, .group = TARGET,
	  .handle = handle_pid, .help = "these processes, and what they fork" },
	{ "all", 'a', .group = TARGET, .handle = handle_flag, .field = FIELD(all),
	  .help = "the whole machine" },
	{ "follow-children", .group = TARGET, .handle = handle_flag,
	  .field = FIELD(follow_children), .help = "include what the targets fork (default)" },
	{ "no-follow-children", .group = TARGET, .handle = handle_flag,
	  .field = FIELD(no_follow_children), .help = "leave out what the targets fork" },

	{ "duration", 'd', .arg = "D", .group = HOW, .handle = handle_duration,
	  .field = FIELD(duration_ns),
	  .help = "10s, 250ms, 1m30s, 1h; a number is seconds\n"
		  "(default 10s; with COMMAND until it ends)" },
	{ "sample-rate", 'F', .arg = "HZ", .group = HOW, .handle = handle_rate,
	  .help = "samples per second and CPU (default 99)" },
	{ "event", .arg = "E", .group = HOW, .handle = handle_choice, .field = FIELD(event),
	  .choices = event_choices, .choices_text = "cpu-clock or cycles",
	  .help = "cpu-clock or cycles (default cpu-clock)" },
	{ "unwind", .arg = "M", .group = HOW, .handle = handle_choice, .field = FIELD(unwind),
	  .choices = unwind_choices, .choices_text = "fp, dwarf or auto",
	  .help = "fp: frame pointers; dwarf: unwind tables,\n"
		  "compiled first; auto: as needed (default)" },
	{ "kernel-stacks", .group = HOW, .handle = handle_flag, .field = FIELD(kernel_stacks),
	  .help = "kernel frames above the user frames" },

	{ "debuginfod-url", .arg = "U", .is_repeatable = true, .group = NAMES, .handle = handle_url,
	  .help = "ask this server for debug files; repeatable\n"
		  "(default $DEBUGINFOD_URLS; unset: no network)" },
	{ "symbol-cache-dir", .arg = "D", .group = NAMES, .handle = handle_path,
	  .field = FIELD(symbol_cache_dir),
	  .help = "keep them in this folder\n(default ~/.cache/perf-agent/debuginfo)" },
	{ "symbol-cache-max", .arg = "BYTES", .group = NAMES, .handle = handle_size,
	  .field = FIELD(symbol_cache_max_bytes),
	  .help = "as long as they fit, the last used ones;\n512M, 10G (default 2G)" },
	{ "symbol-fetch-timeout", .arg = "D", .group = NAMES, .handle = handle_duration,
	  .field = FIELD(symbol_fetch_timeout_ns), .help = "wait so long for each (default 30s)" },
	{ "symbol-fail-closed", .group = NAMES, .handle = handle_flag,
	  .field = FIELD(symbol_fail_closed),
	  .help = "no names at all, and exit 3, for what could\nnot be fetched" },

	{ "profile-output", 'o', .arg = "P", .group = OUTPUT, .handle = handle_path,
	  .field = FIELD(profile_output),
	  .help = "pprof file; - is stdout\n(default <comm>-<date>-on-cpu.pb.gz)" },
	{ "folded-output", .arg = "P", .group = OUTPUT, .handle = handle_path,
	  .field = FIELD(folded_output), .help = "folded stacks of the same capture" },
	{ "tag", .arg = "k=v", .is_repeatable = true, .group = OUTPUT, .handle = handle_tag,
	  .help = "recorded in the profile; repeatable" },
	{ "json", .arg = "PATH", .is_arg_optional = true, .is_repeatable = true, .group = OUTPUT,
	  .handle = handle_json, .help = "summary as one JSON object, on stdout\nor in a file" },

	{ "strict", .group = OTHER, .handle = handle_flag, .field = FIELD(strict),
	  .help = "exit 3 if anything at all was lost" },
	{ "quiet", 'q', .group = OTHER, .handle = handle_flag, .field = FIELD(quiet),
	  .help = "errors only: no progress, no report" },
	{ "verbose", 'v', .group = OTHER, .handle = handle_verbose,
	  .help = "say more; twice: all there is" },
	{ "version", .group = OTHER, .handle = handle_version, .help = "print the version" },
	{ "help", 'h', .group = OTHER, .handle = handle_help, .help = "print this help" },
};

static const struct option_def doctor_defs[] = {
	{ "pid", 'p', .arg = "N", .group = "Options", .handle = handle_pid,
	  .help = "also check whether this process can be profiled" },
	{ "help", 'h', .group = "Options", .handle = handle_help, .help = "print this help" },
};

static const struct option_table capture_table = { capture_defs, ARRAY_SIZE(capture_defs) };
static const struct option_table doctor_table = { doctor_defs, ARRAY_SIZE(doctor_defs) };

_Static_assert(ARRAY_SIZE(capture_defs) <= OPTPARSE_MAX_OPTIONS, "raise OPTPARSE_MAX_OPTIONS");

/* $DEBUGINFOD_URLS, unless servers are given. Words like ima:enforcing are about the client. */
static int take_environment(struct options *o)
{
	const char *env = getenv("DEBUGINFOD_URLS");
	char *rest = o->urls_text, *word;
	int r;

	if (o->nr_urls || !env)
		return 0;
	if (snprintf(o->urls_text, sizeof(o->urls_text), "%s", env) >= (int)sizeof(o->urls_text))
		return usage_error("DEBUGINFOD_URLS", "is too long; unset it and give %s",
				   "--debuginfod-url");
	while ((word = strsep(&rest, " \t\n"))) {
		if (!*word || !strncmp(word, "ima:", 4))
			continue;
		r = add_url(o, "DEBUGINFOD_URLS", word);
		if (r < 0)
			return r;
	}
	return 0;
}

int options_parse(int argc, char *argv[], struct options *o)
{
	bool has_dashes;
	int rest, r;

	*o = (struct options){ 0 };
	r = optparse(&capture_table, argc, argv, o, &rest, &has_dashes);
	if (r != OPTPARSE_CONTINUE)
		return r < 0 ? r : 0;
	if (rest < argc && !has_dashes)
		return rules_stray_argument(argv[rest]);
	if (has_dashes)
		o->command = argv + rest;
	r = take_environment(o);
	if (r == 0)
		r = rules_check(o);
	if (r < 0)
		return r;
	rules_fill_defaults(o);
	return 0;
}

int options_parse_doctor(int argc, char *argv[], struct options *o)
{
	bool has_dashes;
	int rest, r;

	*o = (struct options){ 0 };
	r = optparse(&doctor_table, argc, argv, o, &rest, &has_dashes);
	if (r != OPTPARSE_CONTINUE)
		return r < 0 ? r : 0;
	if (rest < argc || has_dashes)
		return usage_error("doctor", "takes no arguments; write perf-agent doctor --pid N");
	if (o->nr_pids > 1)
		return usage_error("--pid", "doctor looks at one process; give one number");
	return 0;
}

void options_help(FILE *out)
{
	(void)fputs("usage: perf-agent [OPTIONS]\n"
		    "       perf-agent [OPTIONS] -- COMMAND [ARG...]\n"
		    "       perf-agent doctor [--pid N]\n"
		    "Shows where the time goes: samples the stacks of processes by eBPF and\n"
		    "writes a pprof profile.\n",
		    out);
	optparse_help(&capture_table, out);
	(void)fputs(
		"\nExit status: 0 complete, 1 could not set up or write, 2 usage, 3 --strict and\n"
		"something was lost, or --symbol-fail-closed; otherwise that of COMMAND.\n",
		out);
}

void options_help_doctor(FILE *out)
{
	(void)fputs("usage: perf-agent doctor [--pid N]\n"
		    "Says what this kernel, these privileges and this process allow, and how to\n"
		    "mend what they do not.\n",
		    out);
	optparse_help(&doctor_table, out);
}
