/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/flag_names.h"
#include "tap.h"

static void becomes(const char *text, const char *expected)
{
	char to[FLAG_NAMES_SIZE];
	const char *got = flag_names(text, to);

	ok(strcmp(got, expected) == 0, "'%s' is shown as '%s'", text, got);
}

static void test_long(void)
{
	char text[2 * FLAG_NAMES_SIZE], to[FLAG_NAMES_SIZE];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	ok(strlen(flag_names(text, to)) == FLAG_NAMES_SIZE - 1, "a long text is truncated");
	memcpy(text + FLAG_NAMES_SIZE - 4, "pa_options.pids ", 16);
	ok(strncmp(flag_names(text, to) + FLAG_NAMES_SIZE - 5, "x--p", 5) == 0,
	   "a long text is truncated even in the middle of a flag");
}

int main(void)
{
	becomes("", "");
	becomes("no options here", "no options here");
	becomes("pa_options.pids 7: no such process", "--pid 7: no such process");
	becomes("use pa_options.event cpu-clock, or pa_options.unwind fp",
		"use --event cpu-clock, or --unwind fp");
	becomes("raise pa_options.symbol_cache_max_bytes.", "raise --symbol-cache-max.");
	becomes("(pa_options.debuginfod_urls)", "(--debuginfod-url)");
	becomes("pa_options.ring_bytes has no flag", "pa_options.ring_bytes has no flag");
	becomes("pa_options.pidsy, pa_options., pa_options",
		"pa_options.pidsy, pa_options., pa_options");
	becomes("no; see pa_doctor() or perf-agent doctor", "no; see 'perf-agent doctor'");
	becomes("'/tmp/pa_options.pids' cannot be read; use pa_options.pids",
		"'/tmp/pa_options.pids' cannot be read; use --pid");
	becomes("pa_options.cgroup '/a' pa_options.pids '/b': no such cgroup",
		"--cgroup '/a' pa_options.pids '/b': no such cgroup");
	becomes("cannot read '/tmp/pa_options.pids and so on",
		"cannot read '/tmp/pa_options.pids and so on");
	becomes("the user's pa_options.pids", "the user's --pid");
	test_long();
	return tap_done();
}
