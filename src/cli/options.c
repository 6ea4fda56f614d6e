/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/digits.h"
#include "cli/duration.h"
#include "cli/option_handlers.h"
#include "cli/optparse.h"
#include "cli/perf_words.h"
#include "cli/rules.h"
#include "cli/target_options.h"

#define FIELD(name) offsetof(struct options, name)
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static int handle_no_profile_output(void *ctx, const struct option_def *def, const char *value)
{
	struct options *o = ctx;

	o->no_profile_output = true;
	o->profile_output = NULL;
	o->offcpu_output = NULL;
	return OPTPARSE_CONTINUE;
}

static int handle_json(void *ctx, const struct option_def *def, const char *value)
{
	struct options *o = ctx;

	o->json = true;
	o->json_path = value && strcmp(value, "-") ? value : NULL;
	return OPTPARSE_CONTINUE;
}

static int handle_time(void *ctx, const struct option_def *def, const char *value)
{
	uint64_t *ns = (uint64_t *)(void *)((char *)ctx + def->field);

	switch (duration_parse(value, ns)) {
	case 0:
		return OPTPARSE_CONTINUE;
	case -EDOM:
		return option_error(def, "must be greater than 0; give for example 30s");
	case -ERANGE:
		return option_error(def, "'%s' is too long; give less than 292 years", value);
	default:
		return option_error(def, "'%s' is not a duration; write it like %s", value,
				    "10s, 250ms, 1m30s or 1h");
	}
}

/* How long to sample; 0 means without end. */
static int handle_duration(void *ctx, const struct option_def *def, const char *value)
{
	struct options *o = ctx;
	uint64_t ns;

	o->has_duration = true;
	if (duration_parse(value, &ns) != -EDOM)
		return handle_time(ctx, def, value);
	o->duration_ns = 0;
	return OPTPARSE_CONTINUE;
}

/* The minimum duration of a wait, which may be 0. */
static int handle_min_block(void *ctx, const struct option_def *def, const char *value)
{
	struct options *o = ctx;
	uint64_t ns;

	o->has_min_block = true;
	if (duration_parse(value, &ns) != -EDOM)
		return handle_time(ctx, def, value);
	o->min_block_ns = 0;
	return OPTPARSE_CONTINUE;
}

static const struct {
	const char *word;
	enum pa_off_cpu_state state;
} state_words[] = {
	{ "sleep", PA_OFF_CPU_SLEEP },
	{ "disk", PA_OFF_CPU_DISK },
	{ "runqueue", PA_OFF_CPU_RUNQUEUE },
	{ "preempted", PA_OFF_CPU_PREEMPTED },
};

/* The state named by these len bytes; 0 if there is none. */
static unsigned int state_of(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(state_words); i++)
		if (strlen(state_words[i].word) == len && !memcmp(word, state_words[i].word, len))
			return state_words[i].state;
	return 0;
}

static int handle_states(void *ctx, const struct option_def *def, const char *value)
{
	unsigned int states = 0;

	for (const char *word = value + strspn(value, ","); *word || !states;
	     word += strspn(word, ",")) {
		size_t len = strcspn(word, ",");
		unsigned int state = state_of(word, len);

		if (!state)
			return option_error(def, "'%.*s' is not a state; give a list of %s",
					    (int)len, word, "sleep,disk,runqueue,preempted");
		states |= state;
		word += len;
	}
	((struct options *)ctx)->offcpu_states = states;
	return OPTPARSE_CONTINUE;
}

static int handle_rate(void *ctx, const struct option_def *def, const char *value)
{
	struct options *o = ctx;
	long max_hz = pa_max_sample_rate();
	uint64_t hz;
	int r = parse_digits(value, strlen(value), UINT32_MAX, &hz);

	if (r == -EINVAL || (r == 0 && hz == 0))
		return option_error(def, "'%s' is not a sample rate; give a whole number from 1",
				    value);
	if (max_hz <= 0)
		max_hz = INT32_MAX; /* unknown: checked when the session starts */
	if (r == -ERANGE || hz > (uint64_t)max_hz)
		return option_error(def, "%s is above the kernel's limit of %ld; %s", value, max_hz,
				    "give less or raise the sysctl "
				    "kernel.perf_event_max_sample_rate");
	o->sample_rate_hz = (unsigned int)hz;
	return OPTPARSE_CONTINUE;
}

/* The words that a flag accepts and their values in an enum of the library. */
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

static int handle_tag(void *ctx, const struct option_def *def, const char *value)
{
	struct options *o = ctx;
	size_t key_len = strcspn(value, "=");

	if (!value[key_len] || key_len == 0)
		return option_error(def, "'%s' is not of the form key=value; write --tag key=value",
				    value);
	for (size_t i = 0; i < o->nr_tags; i++) {
		if (strncmp(o->tags[i], value, key_len + 1) != 0)
			continue;
		o->tags[i] = value;
		return OPTPARSE_CONTINUE;
	}
	if (o->nr_tags == OPTIONS_MAX_TAGS)
		return option_error(def, "more than %d tags; leave some out", OPTIONS_MAX_TAGS);
	o->tags[o->nr_tags++] = value;
	return OPTPARSE_CONTINUE;
}

/* Adds a URL. what: the option or variable that contains it. */
static int add_url(struct options *o, const char *what, const char *url)
{
	const char *mistake = pa_url_mistake(url);

	if (mistake)
		return usage_error(what,
				   "'%s' is not the URL of a server: %s; write it like "
				   "https://debuginfod.elfutils.org",
				   url, mistake);
	if (o->nr_urls == OPTIONS_MAX_URLS)
		return usage_error(what, "more than %d servers; leave some out", OPTIONS_MAX_URLS);
	o->urls[o->nr_urls++] = url;
	return OPTPARSE_CONTINUE;
}

static int handle_url(void *ctx, const struct option_def *def, const char *value)
{
	struct options *o = ctx;

	o->has_url = true;
	return add_url(o, "--debuginfod-url", value);
}

/* Parses 512M, 2G, 1048576: a number of bytes, with units of 1024. */
static int handle_size(void *ctx, const struct option_def *def, const char *value)
{
	static const char units[] = "KMGT";
	size_t len = strlen(value);
	const char *unit = len ? strchr(units, value[len - 1]) : NULL;
	unsigned int shift = unit ? 10 * (unsigned int)(unit - units + 1) : 0;
	uint64_t n;

	if (parse_digits(value, unit ? len - 1 : len, INT64_MAX >> shift, &n) < 0 || n == 0)
		return option_error(def, "'%s' is not a size; write it like 512M, 2G or %s", value,
				    "a number of bytes");
	*(uint64_t *)(void *)((char *)ctx + def->field) = n << shift;
	return OPTPARSE_CONTINUE;
}

static int handle_listen(void *ctx, const struct option_def *def, const char *value)
{
	struct options *o = ctx;
	const char *why;

	if (listen_address_parse(value, &o->metrics_address, &why) < 0)
		return option_error(def, "'%s' %s; write it like %s", value, why,
				    "9797, 127.0.0.1:9797, [::1]:9797 or unix:PATH");
	o->serves_metrics = true;
	return OPTPARSE_CONTINUE;
}

/* -v given twice is more verbose. */
static int handle_verbose(void *ctx, const struct option_def *def, const char *value)
{
	struct options *o = ctx;

	o->verbosity++;
	o->quiet = false;
	return OPTPARSE_CONTINUE;
}

static int handle_quiet(void *ctx, const struct option_def *def, const char *value)
{
	struct options *o = ctx;

	o->quiet = true;
	o->verbosity = 0;
	return OPTPARSE_CONTINUE;
}

static int handle_version(void *ctx, const struct option_def *def, const char *value)
{
	((struct options *)ctx)->action = OPTIONS_VERSION;
	return OPTPARSE_STOP;
}

#define TARGET "Target"
#define SAMPLING "Sampling"
#define SYMBOLS "Symbols"
#define OUTPUT "Output"
#define OTHER "Other"

static const struct option_def capture_defs[] = {
	{ "pid", 'p', .member = "pids process_names", .arg = "N[,N...]", .group = TARGET,
	  .handle = target_options_pid,
	  .help = "these processes and their children; a word\n"
		  "that is not a number is a process name" },
	{ "tid", .member = "tids", .arg = "N[,N...]", .group = TARGET, .handle = target_options_tid,
	  .help = "these threads alone" },
	{ "user", .member = "user", .arg = "U", .group = TARGET, .handle = target_options_user,
	  .help = "all processes of a user, by name or number" },
	{ "cgroup", .member = "cgroup", .arg = "PATH", .group = TARGET, .handle = handle_path,
	  .field = FIELD(cgroup), .help = "all processes in a cgroup (v2) or below" },
	{ "all", 'a', .member = "all", .group = TARGET, .handle = handle_flag, .field = FIELD(all),
	  .help = "the whole machine" },
	{ "follow-children", .group = TARGET, .handle = handle_flag,
	  .field = FIELD(follow_children), .clears = FIELD(no_follow_children),
	  .help = "include children of the targets (default)" },
	{ "no-follow-children", .group = TARGET, .handle = handle_flag,
	  .field = FIELD(no_follow_children), .clears = FIELD(follow_children),
	  .help = "leave out children of the targets" },

	{ "profile", .group = SAMPLING, .handle = handle_flag, .field = FIELD(profile),
	  .help = "on-CPU profile with stacks (default)" },
	{ "offcpu", .group = SAMPLING, .handle = handle_flag, .field = FIELD(offcpu),
	  .help = "off-CPU profile: where threads wait" },
	{ "offcpu-states", .member = "off_cpu_states", .arg = "LIST", .group = SAMPLING,
	  .handle = handle_states,
	  .help = "of sleep,disk,runqueue,preempted\n(default sleep,disk)" },
	{ "min-block", .member = "off_cpu_min_ns", .arg = "D", .group = SAMPLING,
	  .handle = handle_min_block, .field = FIELD(min_block_ns),
	  .help = "shorter waits are only counted (default 0)" },
	{ "pmu", .member = "modes", .group = SAMPLING, .handle = handle_flag, .field = FIELD(pmu),
	  .help = "scheduler statistics and hardware counters" },
	{ "per-pid", .member = "per_process", .group = SAMPLING, .handle = handle_flag,
	  .field = FIELD(per_pid), .help = "of each process (with -a --pmu)" },
	{ "duration", 'd', .member = "duration_ns", .arg = "D", .group = SAMPLING,
	  .handle = handle_duration, .field = FIELD(duration_ns),
	  .help = "10s, 250ms, 1m30s, 1h; a number is seconds;\n"
		  "0 is until Ctrl-C (default 10s; with COMMAND\n"
		  "until it ends)" },
	{ "sample-rate", 'F', .member = "sample_rate_hz", .arg = "HZ", .group = SAMPLING,
	  .handle = handle_rate, .help = "samples per second and CPU (default 99)" },
	{ "event", .member = "event", .arg = "E", .group = SAMPLING, .handle = handle_choice,
	  .field = FIELD(event), .choices = event_choices, .choices_text = "cpu-clock or cycles",
	  .help = "cpu-clock or cycles (default cpu-clock)" },
	{ "unwind", .member = "unwind", .arg = "M", .group = SAMPLING, .handle = handle_choice,
	  .field = FIELD(unwind), .choices = unwind_choices, .choices_text = "fp, dwarf or auto",
	  .help = "fp: frame pointers; dwarf: unwind tables,\n"
		  "compiled first; auto: as needed (default)" },
	{ "kernel-stacks", .member = "kernel_stacks", .group = SAMPLING, .handle = handle_flag,
	  .field = FIELD(kernel_stacks), .help = "kernel frames above the user frames" },
	{ "inject-python", .member = "inject_python", .group = SAMPLING, .handle = handle_flag,
	  .field = FIELD(inject_python),
	  .help = "switch names of Python functions on for the\ncapture (CPython 3.12 or later; by "
		  "ptrace)" },

	{ "debuginfod-url", .member = "debuginfod_urls", .arg = "U", .group = SYMBOLS,
	  .handle = handle_url,
	  .help = "fetch debug files from this server; repeatable\n"
		  "(default $DEBUGINFOD_URLS; unset: no network)" },
	{ "symbol-cache-dir", .member = "symbol_cache_dir", .arg = "D", .group = SYMBOLS,
	  .handle = handle_path, .field = FIELD(symbol_cache_dir),
	  .help = "where fetched files are kept\n(default ~/.cache/perf-agent/debuginfo)" },
	{ "symbol-cache-max", .member = "symbol_cache_max_bytes", .arg = "BYTES", .group = SYMBOLS,
	  .handle = handle_size, .field = FIELD(symbol_cache_max_bytes),
	  .help = "size limit of the cache; least recently used\n"
		  "files go first; 512M, 10G (default 2G)" },
	{ "symbol-fetch-timeout", .member = "symbol_fetch_timeout_ns", .arg = "D", .group = SYMBOLS,
	  .handle = handle_time, .field = FIELD(symbol_fetch_timeout_ns),
	  .help = "timeout per file (default 30s)" },
	{ "symbol-fail-closed", .member = "symbol_fail_closed", .group = SYMBOLS,
	  .handle = handle_flag, .field = FIELD(symbol_fail_closed),
	  .help = "a file whose debug file cannot be fetched gets\n"
		  "no symbols at all, and the exit status is 3" },

	{ "profile-output", 'o', .arg = "P", .group = OUTPUT, .handle = handle_path,
	  .field = FIELD(profile_output), .clears = FIELD(no_profile_output),
	  .help = "pprof file; - is stdout\n(default <comm>-<date>-on-cpu.pb.gz)" },
	{ "offcpu-output", .arg = "P", .group = OUTPUT, .handle = handle_path,
	  .field = FIELD(offcpu_output), .clears = FIELD(no_profile_output),
	  .help = "the same of --offcpu\n(default <comm>-<date>-off-cpu.pb.gz)" },
	{ "no-profile-output", .group = OUTPUT, .handle = handle_no_profile_output,
	  .help = "write no pprof file" },
	{ "folded-output", .arg = "P", .group = OUTPUT, .handle = handle_path,
	  .field = FIELD(folded_output), .help = "folded stacks of the same capture" },
	{ "perf-data-output", .arg = "P", .group = OUTPUT, .handle = handle_path,
	  .field = FIELD(perf_data_output), .help = "perf.data of the same capture, for perf" },
	{ "flamegraph-output", .arg = "P", .group = OUTPUT, .handle = handle_path,
	  .field = FIELD(flamegraph_output),
	  .help = "flame graph of the same capture, as an HTML\npage that needs no network" },
	{ "pmu-output", .arg = "P", .group = OUTPUT, .handle = handle_path,
	  .field = FIELD(pmu_output),
	  .help = "file for --pmu, or auto for a name of its own\n(default: stdout)" },
	{ "tag", .member = "tags", .arg = "k=v", .group = OUTPUT, .handle = handle_tag,
	  .help = "recorded in the profile; repeatable" },
	{ "json", .arg = "PATH", .is_arg_optional = true, .group = OUTPUT, .handle = handle_json,
	  .help = "summary as one JSON object, on stdout\nor in a file" },
	{ "metrics-listen", .arg = "ADDR", .group = OUTPUT, .handle = handle_listen,
	  .help = "metrics by HTTP during the capture, at 9797,\n127.0.0.1:9797, unix:PATH "
		  "(default: none)" },
	{ "sort", .arg = "S", .group = OUTPUT, .handle = handle_choice, .field = FIELD(sort),
	  .choices = sort_choices, .choices_text = "self or total",
	  .help = "list functions by self or by total time\n(default: both lists)" },
	{ "top", .arg = "N", .group = OUTPUT, .handle = handle_top, .field = FIELD(top),
	  .help = "how many functions to list (default: 6 in\neach list, 10 in a single one)" },
	{ "quiet", 'q', .group = OUTPUT, .handle = handle_quiet,
	  .help = "errors only: no progress, no report" },
	{ "verbose", 'v', .group = OUTPUT, .handle = handle_verbose,
	  .help = "more detail; twice: everything" },

	{ "strict", .group = OTHER, .handle = handle_flag, .field = FIELD(strict),
	  .help = "exit 3 if anything at all was lost" },
	{ "max-lost", .arg = "PCT", .group = OTHER, .handle = handle_percent,
	  .field = FIELD(max_lost_percent), .help = "exit 3 if more of the ticks due were lost" },
	{ "version", 'V', .group = OTHER, .handle = handle_version, .help = "print the version" },
	{ "help", 'h', '?', .group = OTHER, .handle = handle_help, .help = "print this help" },
};

static const struct option_def doctor_defs[] = {
	{ "pid", 'p', .arg = "N", .group = "Options", .handle = target_options_pid,
	  .help = "also check whether this process can be profiled" },
	{ "help", 'h', '?', .group = "Options", .handle = handle_help, .help = "print this help" },
};

static const struct option_table capture_table = { capture_defs, ARRAY_SIZE(capture_defs),
						   .advise = perf_words_option };

/* For options of a capture that users try here, too. */
static const char *advise_doctor(const char *spelling)
{
	static const char *const output[] = { "--json", "-v", "--verbose", "-q", "--quiet" };

	for (size_t i = 0; i < ARRAY_SIZE(output); i++)
		if (!strcmp(spelling, output[i]))
			return "doctor prints all it finds as text, and exits with 0 if a capture "
			       "is possible";
	return NULL;
}

static const struct option_table doctor_table = { doctor_defs, ARRAY_SIZE(doctor_defs),
						  .advise = advise_doctor };

_Static_assert(ARRAY_SIZE(capture_defs) <= OPTPARSE_MAX_OPTIONS, "raise OPTPARSE_MAX_OPTIONS");

/* $DEBUGINFOD_URLS, unless servers are given. Words like ima:enforcing configure the client. */
static int take_urls(struct options *o)
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

static int take_environment(struct options *o)
{
	const char *fallback = secure_getenv("PERFAGENT_FORCE_KERNEL_FALLBACK"); /* for tests */

	o->kallsyms_only = fallback && !strcmp(fallback, "1");
	o->pod_name = getenv("POD_NAME");
	o->pod_namespace = getenv("POD_NAMESPACE");
	o->container_name = getenv("CONTAINER_NAME");
	return take_urls(o);
}

int options_parse(int argc, char *argv[], struct options *o)
{
	bool has_dashes;
	int rest, r;

	*o = (struct options){ .max_lost_percent = OPTIONS_NO_MAX_LOST };
	r = optparse(&capture_table, argc, argv, o, &rest, &has_dashes);
	if (r != OPTPARSE_CONTINUE)
		return r < 0 ? r : 0;
	if (has_dashes || rest < argc)
		o->command = argv + rest;
	r = has_dashes || rest == argc ? 0 : rules_check_first_word(argv[rest]);
	if (r == 0)
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
	if (o->nr_pids + o->nr_names > 1 || o->nr_names)
		return usage_error("--pid", "doctor looks at one process; give one number");
	return 0;
}

const char *options_pmu_path(const struct options *o)
{
	if (!o->pmu || (!o->pmu_output && o->json && !o->json_path))
		return NULL;
	return o->pmu_output ? o->pmu_output : "-";
}

/* True if these len bytes are a word of the list. */
static bool has_word(const char *list, const char *word, size_t len)
{
	while (*list) {
		size_t n = strcspn(list, " ");

		if (n == len && !memcmp(list, word, len))
			return true;
		list += n + strspn(list + n, " ");
	}
	return false;
}

const char *options_flag(const char *member, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(capture_defs); i++) {
		const struct option_def *def = &capture_defs[i];

		if (def->member && has_word(def->member, member, len))
			return def->name;
	}
	return NULL;
}

void options_usage(FILE *out)
{
	(void)fputs("usage: perf-agent [OPTIONS] [--] COMMAND [ARG...]\n"
		    "       perf-agent [OPTIONS] -p PID|NAME[,...] | -a\n"
		    "       perf-agent report FILE | convert FILE -o OUT | diff BASE NEW\n"
		    "       perf-agent doctor [--pid N]\n"
		    "Shows where the time goes: samples the stacks of processes by eBPF and\n"
		    "writes a pprof profile.\n"
		    "\nExamples:\n"
		    "  perf-agent make -j8              a command and everything that it starts\n"
		    "  perf-agent -p 1234 -d 30s        a running process, for 30 seconds\n"
		    "  perf-agent -a --kernel-stacks    the whole machine, with the kernel\n",
		    out);
}

void options_help(FILE *out)
{
	options_usage(out);
	optparse_help(&capture_table, out);
	(void)fputs(
		"\nExit status: 0 complete, 1 could not set up or write, 2 usage, 3 --strict or\n"
		"--max-lost and something was lost, or --symbol-fail-closed, 126 and 127 COMMAND\n"
		"cannot be run or is not found; otherwise that of COMMAND.\n",
		out);
}

void options_help_doctor(FILE *out)
{
	(void)fputs("usage: perf-agent doctor [--pid N]\n"
		    "Says what this kernel, these privileges and this process allow, and how to\n"
		    "fix what is missing.\n",
		    out);
	optparse_help(&doctor_table, out);
}
