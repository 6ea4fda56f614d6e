/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "cli/report_json.h"
#include "item_sizes.h"
#include "tap.h"

static const struct pa_function_stat functions[] = {
	{ "main", "/usr/bin/app", 1, 2 },
	/* latin-1, overlong, surrogate, past the end of Unicode, truncated */
	{ "gr\xf6\xdf"
	  "e",
	  "\xc0\xaf", 3, 4 },
	{ "\xed\xa0\x80", "\xf4\x90\x80\x80", 5, 6 },
	{ "a\xe2\x82", "\x1b[31m\"\\\n", 7, 8 },
	{ "\xe6\xbc\xa2 \xf0\x9f\x98\x80", "\xe2\x80\xae\xc2\x85", 9, 10 },
};

static const struct pa_fetch_failure fetch_failures[] = {
	{ "debug.example", "http", "HTTP 500", 2 },
};

static const struct pa_unanswered_stat unanswered[] = { { 7, "maps" } };

static const struct pa_count losses[] = { { "ring_full", "the ring was full", 0 } };

static const struct pa_count counts[] = { { "idle", "idle", 5 }, { "other", "other", 6 } };

static const struct pa_count stops[] = { { "complete", "reached the end", 3 } };

static const struct pa_truncation_stat truncation = { "too_deep", "too deep", "/a.so", 4,
						      "see pa_options.unwind" };

static const struct pa_unnamed_stat unnamed = { "/b.so", 6, "no symbols", NULL };

static const struct pa_section sections[] = {
	{ .name = "on-cpu",
	  .unit = "tick",
	  .units = "ticks",
	  .due = UINT64_MAX,
	  .counts = counts,
	  .nr_counts = 2,
	  .samples = INT64_MAX,
	  .losses = losses,
	  .nr_losses = 1,
	  .lost = 4 },
	{ .name = "page-faults",
	  .unit = "page fault",
	  .units = "page faults",
	  .due = 8,
	  .samples = 8,
	  .stacks_complete = 3,
	  .no_user_stack = 1,
	  .stops = stops,
	  .nr_stops = 1,
	  .truncations = &truncation,
	  .nr_truncations = 1,
	  .truncations_seen = 2,
	  .truncations_samples = 4,
	  .unnamed = &unnamed,
	  .nr_unnamed = 1,
	  .unnamed_seen = 5,
	  .unnamed_samples = 6 },
};

static const struct pa_output_stat outputs[] = { { "pprof", "a\n\xe2\x80\xae\xff.pb.gz", 7 } };

static const pid_t pids[] = { 812, 7 };

static const char *const tags[] = { "team=perf", "run=\"2\"" };

static const struct pa_command_stat commands[] = { { "cc1", 90, 10, 3 }, { "s\x1bh", 5, 5, 2 } };

static const struct pa_process_stat processes[] = { { 812, "cc1", 60, 10 }, { 813, "cc1", 30, 0 } };

static const struct pa_path_stat paths[] = {
	{ .depth = 0, .name = "main", .file = "/bin/cc1", .nr_samples = 90, .nr_rest = 1 },
	{ .depth = 0,
	  .continues = true,
	  .name = "[jit]",
	  .file = "[jit]",
	  .nr_samples = 89,
	  .nr_self = 89,
	  .nr_skipped = 4,
	  .is_unnamed = true,
	  .is_start = true },
};

static const struct pa_pmu_stat pmu[] = { { .nr_voluntary = 5, .nr_io_wait = PA_UNKNOWN } };

static struct pa_summary sample(void)
{
	return (struct pa_summary){
		.sz = sizeof(struct pa_summary),
		ITEM_SIZES,
		.version = "1.2.3",
		.event = "cpu-clock",
		.period = 10101010,
		.sections = sections,
		.nr_sections = 2,
		.samples = INT64_MAX,
		.gaps = losses,
		.nr_gaps = 1,
		.functions = functions,
		.nr_functions = 5,
		.targets_exited = true,
		.pmu = pmu,
		.nr_pmu = 1,
		.naming_batches = 1,
		.naming_addresses = 2,
		.naming_raw = 3,
		.naming_fallbacks = 4,
		.naming_p50_ns = 5,
		.naming_p99_ns = 6,
		.naming_max_ns = 7,
		.fetch_failures = fetch_failures,
		.nr_fetch_failures = 1,
		.naming_failures = losses,
		.nr_naming_failures = 1,
		.unanswered_seen = 20,
		.unanswered = unanswered,
		.nr_unanswered = 1,
		.target_text = "make -j2",
		.end_reason = "stopped",
		.host = "build7",
		.kernel_release = "6.1.0",
		.machine = "x86_64",
		.unwind = "auto",
		.kernel_stacks = true,
		.pids = pids,
		.nr_pids = 2,
		.tags = tags,
		.nr_tags = 2,
		.commands = commands,
		.nr_commands = 2,
		.commands_seen = 2,
		.processes = processes,
		.nr_processes_listed = 2,
		.processes_seen = 5,
		.processes_samples = 95,
		.nr_processes = 4,
		.functions_by_total = functions,
		.nr_functions_by_total = 1,
		.paths = paths,
		.nr_paths = 2,
		.outputs = outputs,
		.nr_outputs = 1,
	};
}

static json_t *parse(const struct pa_summary *s, const char *error)
{
	char *text = NULL;
	json_t *j;

	must(report_json(s, error, &text) == 0);
	ok(text[strlen(text) - 1] == '\n', "the text ends with a newline");
	j = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	ok(j != NULL, "the text is one JSON object");
	free(text);
	return j;
}

static const char *function_string(json_t *j, size_t i, const char *key)
{
	json_t *f = json_array_get(json_object_get(j, "functions"), i);

	return json_string_value(json_object_get(f, key));
}

static void check_string(json_t *j, size_t i, const char *key, const char *expected,
			 const char *what)
{
	const char *s = function_string(j, i, key);

	ok(s && !strcmp(s, expected), "%s", what);
}

#define FFFD "\xef\xbf\xbd"

static void test_strings(json_t *j)
{
	check_string(j, 0, "name", "main", "ASCII is kept");
	check_string(j, 1, "name", "gr" FFFD FFFD "e", "Latin-1 is replaced");
	check_string(j, 1, "file", FFFD FFFD, "an overlong form is replaced");
	check_string(j, 2, "name", FFFD FFFD FFFD, "a surrogate is replaced");
	check_string(j, 2, "file", FFFD FFFD FFFD FFFD, "what is past Unicode is replaced");
	check_string(j, 3, "name", "a" FFFD FFFD, "a truncated character is replaced");
	check_string(j, 3, "file", "?[31m\"\\?", "control characters are replaced as in a profile");
	check_string(j, 4, "file", "??", "hidden characters are replaced as in a profile");
	check_string(j, 4, "name", "\xe6\xbc\xa2 \xf0\x9f\x98\x80", "good UTF-8 is kept");
}

static void test_used_path(json_t *j)
{
	json_t *output = json_array_get(json_object_get(j, "outputs"), 0);
	const char *path = json_string_value(json_object_get(output, "path"));

	ok(path && !strcmp(path, "a\n\xe2\x80\xae" FFFD ".pb.gz"),
	   "the path of an output is kept, as far as it is text");
}

static void test_values(json_t *j)
{
	ok(json_integer_value(json_object_get(j, "schema_version")) == 1,
	   "the schema has a version");
	ok(json_is_null(json_object_get(j, "error")), "no error is null");
	ok(json_integer_value(json_object_get(j, "period_ns")) == 10101010,
	   "the period has a unit");
	ok(json_integer_value(json_object_get(j, "samples")) == INT64_MAX,
	   "large counts are exact");
	ok(json_real_value(json_object_get(j, "ticks_due")) == (double)UINT64_MAX,
	   "a count past signed integers does not turn negative");
	ok(json_is_true(json_object_get(j, "targets_exited")), "booleans are booleans");
	ok(json_is_null(json_object_get(j, "kernel_symbols")), "a missing string is null");
	ok(json_is_null(
		   json_object_get(json_array_get(json_object_get(j, "pmu"), 0), "nr_io_wait")),
	   "an unknown number of waits for I/O is null");
	ok(json_array_size(json_object_get(j, "losses")) == 1, "losses of 0 are listed too");
	ok(json_is_array(json_object_get(j, "stops")), "an empty list is a list");
}

static bool has_text(json_t *object, const char *key, const char *expected)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s && !strcmp(s, expected);
}

static json_int_t number(json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static void test_sections(json_t *j)
{
	json_t *all = json_object_get(j, "sections");
	json_t *first = json_array_get(all, 0), *second = json_array_get(all, 1);
	json_t *count = json_array_get(json_object_get(first, "counts"), 1);
	const char *name = json_string_value(json_object_get(second, "name"));

	ok(number(j, "ticks_idle") == 5 && number(j, "ticks_other") == 6 &&
		   number(j, "ticks_lost") == 4,
	   "the ticks have the names that they always had");
	ok(json_array_size(all) == 2 && number(first, "lost") == 4 && number(count, "count") == 6 &&
		   json_array_size(json_object_get(first, "losses")) == 1,
	   "the ticks are a section, with counts and losses");
	ok(name && !strcmp(name, "page-faults") && number(second, "due") == 8 &&
		   json_array_size(json_object_get(second, "counts")) == 0,
	   "another kind of events is another section");
}

static void test_stacks_of_sections(json_t *j)
{
	json_t *second = json_array_get(json_object_get(j, "sections"), 1);

	ok(number(second, "stacks_complete") == 3 && number(second, "no_user_stack") == 1 &&
		   number(second, "truncations_seen") == 2 &&
		   number(second, "truncations_samples") == 4 &&
		   number(second, "unnamed_seen") == 5 && number(second, "unnamed_samples") == 6,
	   "which says how many of its own stacks are complete, and have symbols");
	ok(number(json_array_get(json_object_get(second, "stops"), 0), "count") == 3 &&
		   has_text(json_array_get(json_object_get(second, "truncations"), 0), "fix",
			    "see --unwind") &&
		   has_text(json_array_get(json_object_get(second, "unnamed"), 0), "file", "/b.so"),
	   "the reasons for truncation and missing symbols are reported");
}

static void test_fetch_failures(json_t *j)
{
	json_t *f = json_array_get(json_object_get(j, "fetch_failures"), 0);
	const char *server = json_string_value(json_object_get(f, "server"));
	const char *reason = json_string_value(json_object_get(f, "reason"));
	const char *text = json_string_value(json_object_get(f, "text"));

	ok(server && reason && text && !strcmp(server, "debug.example") &&
		   !strcmp(reason, "http") && !strcmp(text, "HTTP 500") &&
		   json_integer_value(json_object_get(f, "count")) == 2,
	   "servers that failed are listed, with the reason");
}

static void test_gaps(json_t *j)
{
	json_t *gap = json_array_get(json_object_get(j, "gaps"), 0);

	ok(json_is_integer(json_object_get(gap, "count")), "gaps: every reason has a count");
}

static void test_unanswered(json_t *j)
{
	json_t *u = json_array_get(json_object_get(j, "unanswered"), 0);
	const char *what = json_string_value(json_object_get(u, "what"));

	ok(json_integer_value(json_object_get(j, "unanswered_seen")) == 20 && what &&
		   !strcmp(what, "maps") && json_integer_value(json_object_get(u, "pid")) == 7,
	   "files and processes that did not answer are listed");
}

static void test_naming(json_t *j)
{
	static const char *const names[] = { "batches", "addresses", "raw",   "fallbacks",
					     "p50_ns",  "p99_ns",    "max_ns" };

	for (int i = 0; i < 7; i++) {
		char key[32];

		snprintf(key, sizeof(key), "naming_%s", names[i]);
		ok(json_integer_value(json_object_get(j, key)) == i + 1, "%s is reported", key);
	}
	ok(json_array_size(json_object_get(j, "naming_failures")) == 1,
	   "the reasons for failed symbolization are reported");
}

static void test_what_was_profiled(json_t *j)
{
	json_t *list = json_object_get(j, "pids"),
	       *tag = json_array_get(json_object_get(j, "tags"), 1);

	ok(has_text(j, "target", "make -j2") && has_text(j, "end_reason", "stopped") &&
		   has_text(j, "host", "build7") && has_text(j, "kernel_release", "6.1.0") &&
		   has_text(j, "machine", "x86_64") && has_text(j, "unwind", "auto"),
	   "target, end, host, kernel and unwind mode have a field each");
	ok(json_is_true(json_object_get(j, "kernel_stacks")) &&
		   json_is_false(json_object_get(j, "all")),
	   "options in force are booleans");
	ok(json_array_size(list) == 2 && json_integer_value(json_array_get(list, 0)) == 812,
	   "PIDs are an array of integers");
	ok(json_string_value(tag) && !strcmp(json_string_value(tag), "run=\"2\""),
	   "tags are an array of strings");
}

static void test_lists(json_t *j)
{
	json_t *command = json_array_get(json_object_get(j, "commands"), 0);
	json_t *process = json_array_get(json_object_get(j, "processes"), 1);

	ok(has_text(command, "comm", "cc1") && number(command, "nr_samples") == 90 &&
		   number(command, "nr_in_kernel") == 10 && number(command, "nr_processes") == 3 &&
		   number(j, "commands_seen") == 2,
	   "commands have their counts");
	ok(has_text(process, "comm", "cc1") && number(process, "pid") == 813 &&
		   number(process, "nr_samples") == 30 && number(j, "processes_seen") == 5 &&
		   number(j, "processes_samples") == 95 && number(j, "nr_processes") == 4,
	   "processes have their PID and counts");
	ok(json_array_size(json_object_get(j, "functions_by_total")) == 1,
	   "functions by total are a list of their own");
}

static void test_paths(json_t *j)
{
	json_t *path = json_array_get(json_object_get(j, "paths"), 1);

	ok(json_is_true(json_object_get(path, "continues")) && number(path, "depth") == 0 &&
		   has_text(path, "name", "[jit]") && number(path, "nr_self") == 89 &&
		   number(path, "nr_skipped") == 4 &&
		   json_is_true(json_object_get(path, "is_unnamed")) &&
		   json_is_true(json_object_get(path, "is_start")),
	   "a row of the paths has all its members");
}

static long nr_allocs_left; /* before one fails; below 0: none does */

static void *failing_malloc(size_t n)
{
	if (nr_allocs_left == 0)
		return NULL;
	nr_allocs_left--;
	return malloc(n);
}

static void test_memory(const struct pa_summary *s)
{
	char *text = NULL;
	int r = -ENOMEM;
	long n;

	json_set_alloc_funcs(failing_malloc, free);
	for (n = 0; r == -ENOMEM && n < 100000; n++) {
		nr_allocs_left = n;
		r = report_json(s, "an error", &text);
	}
	nr_allocs_left = -1;
	ok(r == 0 && text, "each of %ld allocations may fail, then it works", n);
	free(text);
}

/* Each use of a name is a copy of it. */
static void test_size(void)
{
	static char name[128 << 10];
	enum { NR = (REPORT_JSON_MAX_BYTES / sizeof(name)) / 2 };
	static struct pa_function_stat list[2 * NR];
	struct pa_summary s = sample();
	json_t *j;
	char *text = NULL;

	memset(name, 'x', sizeof(name) - 1);
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		list[i] = (struct pa_function_stat){ .name = name, .file = name };
	s.functions = list;
	s.nr_functions = NR - 1;
	j = parse(&s, NULL);
	ok(j != NULL, "a summary with long names is written");
	json_decref(j);
	s.nr_functions = 2 * NR;
	ok(report_json(&s, NULL, &text) == -E2BIG && !text,
	   "a summary with more bytes of names than are allowed is refused");
	free(text);
}

int main(void)
{
	struct pa_summary s = sample();
	json_t *j = parse(&s, NULL);

	must(j);
	test_strings(j);
	test_used_path(j);
	test_values(j);
	test_sections(j);
	test_stacks_of_sections(j);
	test_fetch_failures(j);
	test_gaps(j);
	test_unanswered(j);
	test_naming(j);
	test_what_was_profiled(j);
	test_lists(j);
	test_paths(j);
	json_decref(j);
	test_size();
	j = parse(&s, "the disk is full");
	must(j);
	ok(!strcmp(json_string_value(json_object_get(j, "error")), "the disk is full"),
	   "an error is reported");
	json_decref(j);
	test_memory(&s);
	return tap_done();
}
