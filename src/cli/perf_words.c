/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/perf_words.h"

#include <stddef.h>
#include <string.h>

struct perf_word {
	const char *word;
	const char *advice;
};

#define STACKS "stacks are always recorded, and --unwind chooses how"
#define RATE "write -F HZ, samples per second"
#define NO_CPU "all CPUs are sampled; choose processes by -p"
#define EVENT "write --event cpu-clock or --event cycles"
#define CHILDREN "write --no-follow-children"

static const struct perf_word options[] = {
	{ "-g", STACKS },
	{ "--call-graph", STACKS },
	{ "--freq", RATE },
	{ "--frequency", RATE },
	{ "-c", RATE },
	{ "--count", RATE },
	{ "-r", RATE },
	{ "--rate", RATE },
	{ "-C", NO_CPU },
	{ "--cpu", NO_CPU },
	{ "-e", EVENT },
	{ "--output", "write -o FILE" },
	{ "-i", CHILDREN },
	{ "--no-inherit", CHILDREN },
	{ "-t", "write --tid N" },
	{ "-u", "write --user USER" },
	{ "--uid", "write --user USER" },
	{ "-G", "write --cgroup PATH" },
	{ "--all-cpus", "write -a" },
	{ NULL },
};

static const struct perf_word subcommands[] = {
	{ "record", "leave it out, and give -p PID, -a or a COMMAND" },
	{ "stat", "write --pmu, and leave it out" },
	{ "top", "write perf-agent -a, or perf-agent -- top to run that program" },
	{ "annotate",
	  "write perf-agent report FILE, and go tool pprof -list FUNCTION FILE for lines" },
	{ "script", "write perf-agent convert FILE -o OUT.folded, or perf-agent -- script to run "
		    "that program" },
	{ "list", "there are two events; write --event cpu-clock or --event cycles" },
	{ "version", "write perf-agent --version" },
	{ "help", "write perf-agent --help" },
	{ NULL },
};

static const char *advice_about(const struct perf_word *list, const char *word)
{
	for (; list->word; list++)
		if (!strcmp(list->word, word))
			return list->advice;
	return NULL;
}

const char *perf_words_option(const char *spelling)
{
	return advice_about(options, spelling);
}

const char *perf_words_subcommand(const char *word)
{
	return advice_about(subcommands, word);
}
