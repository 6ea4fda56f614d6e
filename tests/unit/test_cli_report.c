/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/report.h"
#include "cli/text.h"
#include "tap.h"

static const struct pa_function_stat functions[] = {
	{ "hot", "/usr/bin/app", 60, 90 },
	{ "\x1b[2Jevil\n", "/tmp/\x1b]0;evil\x07", 20, 20 },
	{ "a_function_whose_name_is_far_too_long_for_any_terminal_that_is_eighty_columns_wide",
	  "/usr/lib/a_library_with_a_long_name_of_its_own_that_takes_half_the_line.so", 10, 10 },
};

static const struct pa_unnamed_stat unnamed[] = {
	{ "/opt/libstripped.so", 5, "it has no symbol table", "install its debug package" },
};

static const struct pa_output_stat outputs[] = { { "pprof", "app-on-cpu.pb.gz", 2048 } };

static const struct pa_cut_stat cuts[] = {
	{ "b", "stopped for b", "/usr/lib/b.so", 4, "rebuild b" },
	{ "c", "stopped for c", "/usr/lib/c.so", 3, NULL },
	{ "c", "stopped for c", "/usr/lib/d.so", 2, NULL },
	{ "a", "stopped for a", "/usr/lib/a.so", 1, NULL },
};

static struct pa_count losses[] = { { "x", "lost by x", 0 }, { "y", "lost by y", 0 } };

static struct pa_summary sample(void)
{
	losses[0].count = losses[1].count = 0;
	return (struct pa_summary){
		.sz = sizeof(struct pa_summary),
		.version = "1",
		.event = "cpu-clock",
		.sample_rate_hz = 99,
		.duration_ns = 10000000000,
		.nr_cpus = 4,
		.ticks_due = 1000,
		.ticks_idle = 750,
		.ticks_other = 150,
		.samples = 100,
		.losses = losses,
		.nr_losses = 2,
		.nr_stacks = 12,
		.nr_processes = 1,
		.stacks_complete = 90,
		.cuts = cuts,
		.nr_cuts = 4,
		.nr_locations = 10,
		.nr_locations_named = 9,
		.kernel_symbols = "kallsyms",
		.functions = functions,
		.nr_functions = 3,
		.unnamed = unnamed,
		.nr_unnamed = 1,
		.outputs = outputs,
		.nr_outputs = 1,
		.agent_cpu_ns = 100000000,
		.agent_sampling_cpu_ns = 40000000,
		.agent_peak_rss_bytes = 32 << 20,
	};
}

/* The caller frees it. */
static char *print(const struct pa_summary *s, const struct report_options *opts)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	must(f);
	report_print(s, opts, f);
	must(fclose(f) == 0 && text);
	return text;
}

static void check_with(const struct pa_summary *s, const struct report_options *opts,
		       const char *part, bool is_there, const char *what)
{
	char *text = print(s, opts);

	if (!ok((strstr(text, part) != NULL) == is_there, "%s", what))
		printf("# looked for '%s'\n", part);
	free(text);
}

static const struct report_options wide = { .max_cols = TEXT_NO_LIMIT };

static void has(const struct pa_summary *s, const char *part, const char *what)
{
	check_with(s, &wide, part, true, what);
}

static void has_not(const struct pa_summary *s, const char *part, const char *what)
{
	check_with(s, &wide, part, false, what);
}

static void test_numbers(void)
{
	struct pa_summary s = sample();

	has(&s, "app-on-cpu.pb.gz (pprof, 2.0 KiB)", "files are named with their size");
	has(&s, "25.0% busy (4 CPUs", "CPUs are busy when they are not idle");
	has_not(&s, "in the kernel", "little time in the kernel needs no word");
	has(&s, "10.0% of the CPU time, 0.40 CPUs", "the target has its share");
	has(&s, "60.0%    90.0%  hot [app]", "functions have self, total, name and file");
	has(&s,
	    "90.0% complete\n         4.0% cut in /usr/lib/b.so: stopped for b\n"
	    "           fix: rebuild b\n         3.0% cut in /usr/lib/c.so: stopped for c\n"
	    "         2.0% cut in /usr/lib/d.so: stopped for c\nnames",
	    "the three most frequent cuts follow, with their files and cures");
	check_with(&s, &(struct report_options){ .max_cols = TEXT_NO_LIMIT, .is_verbose = true },
		   "1.0% cut in /usr/lib/a.so: stopped for a\n", true, "-v shows all of them");
	s.no_user_stack = 10;
	has(&s, "100.0% complete; 10 samples without a user stack\n",
	    "what has no user stack is counted apart from what is complete");
	s.no_user_stack = s.samples;
	s.stacks_complete = 0;
	has(&s, "no sample has a user stack\n", "also if nothing has one");
	s = sample();
	has(&s, "/opt/libstripped.so: 5 samples (5.0%) without a name: it has no symbol table\n",
	    "files without names say why");
	has(&s, "fix: install its debug package", "… and the cure");
	has(&s, "nothing was lost", "no loss is said");
	has(&s, "1000 due = 750 idle + 150 other + 0 outside + 100 samples + 0 lost\n",
	    "the account is shown");
	has_not(&s, "do not add up", "a good account is not doubted");
	has(&s, "0.04s of CPU time while sampling, 0.10s with start and symbols; 32.0 MiB",
	    "the agent says its cost");
	has_not(&s, "kallsyms", "without kernel frames, no source of kernel names");
}

static void test_kernel_time(void)
{
	struct pa_summary s = sample();
	struct pa_count lost = { "not_delivered", "not delivered by the kernel", 200 };

	s.samples_in_kernel = 40;
	has(&s, "kernel   40.0% of the samples were in the kernel; --kernel-stacks shows where\n",
	    "much time in the kernel can be looked into");
	check_with(&s,
		   &(struct report_options){ .max_cols = TEXT_NO_LIMIT, .has_kernel_stacks = true },
		   "--kernel-stacks", false, "where it is, it is seen");
	s.losses = &lost;
	s.nr_losses = 1;
	s.ticks_lost = 200;
	s.ticks_idle = 550;
	has(&s, "25.0% busy, 20.0% not known (4 CPUs",
	    "ticks that were not delivered say nothing of how busy");
	has(&s, "10.0% of the CPU time, 0.40 CPUs", "and the target has what its samples show");
}

static void test_more_functions(void)
{
	static const struct pa_function_stat many[] = {
		{ "f", "/a", 10, 10 }, { "f", "/a", 9, 9 }, { "f", "/a", 8, 8 },
		{ "f", "/a", 7, 7 },   { "f", "/a", 6, 6 }, { "f", "/a", 5, 5 },
		{ "f", "/a", 4, 4 },   { "f", "/a", 3, 3 }, { "f", "/a", 2, 2 },
		{ "f", "/a", 1, 1 },   { "g", "/a", 1, 1 }, { "h", "/a", 0, 9 },
	};
	struct report_options opts = { .max_cols = TEXT_NO_LIMIT, .is_verbose = true };
	struct pa_summary s = sample();

	s.functions_seen = s.nr_functions;
	s.functions_self = 90;
	has_not(&s, "more function", "a table that is whole says nothing of more");
	s.functions = many;
	s.nr_functions = 12;
	s.functions_seen = 33;
	s.functions_self = 60;
	has(&s, " [a]\n    5.0%           ... 23 more functions (-v shows more)\n\n",
	    "one that is cut says how many more, and their share");
	check_with(&s, &opts, "    4.0%           ... 21 more functions\n", true,
		   "also with -v, of what that leaves out");
	s.functions_seen = 13;
	check_with(&s, &opts, "... 1 more function\n", true, "one more is one");
}

static void test_more_cuts(void)
{
	struct report_options opts = { .max_cols = TEXT_NO_LIMIT, .is_verbose = true };
	struct pa_summary s = sample();

	for (size_t i = 0; i < s.nr_cuts; i++)
		s.cuts_samples += s.cuts[i].nr_samples;
	s.cuts_seen = s.nr_cuts;
	check_with(&s, &opts, " more, ", false, "a list that is whole says nothing of more");
	s.cuts_seen = 7;
	s.cuts_samples += 20;
	check_with(&s, &opts, "... 3 more, 20.0% of the samples\n", true,
		   "with -v a list of cuts says what it leaves out");
	s.cuts_samples = s.cuts[0].nr_samples + s.cuts[1].nr_samples + s.cuts[2].nr_samples + 21;
	has(&s, "... 4 more, 21.0% of the samples (-v shows more)\n", "without it too");
}

static void test_more_unnamed(void)
{
	struct pa_summary s = sample();

	s.unnamed_seen = 1;
	has_not(&s, " more, ", "a list of files that is whole says nothing of more");
	s.unnamed_seen = 3;
	s.unnamed_samples = s.unnamed[0].nr_samples + 5;
	has(&s, "... 2 more, 5.0% of the samples\n", "one that is cut says how many more");
}

static void test_losses(void)
{
	struct pa_summary s = sample();

	losses[1].count = s.ticks_lost = 3;
	s.ticks_due += 3;
	has(&s, "3 ticks (0.30%): lost by y", "a loss is named");
	has_not(&s, "lost by x", "a loss that did not occur is not");
	has_not(&s, "nothing was lost", "nothing is said to be lost only when nothing was");
	s.sideband_lost = 2;
	has(&s, "2 records about processes", "lost side-band records are named");
	s.ticks_due++;
	has(&s, "do not add up", "an account that does not add up is said to be one");
}

static void test_tables(void)
{
	static const struct report_options verbose = { .max_cols = TEXT_NO_LIMIT,
						       .is_verbose = true };
	struct pa_summary s = sample();

	s.nr_tables = 7;
	s.tables_peak_bytes = 3 << 20;
	s.notices_lost = 5;
	has_not(&s, "tables ", "tables are not told of while all is well");
	has_not(&s, "too late", "nor are late wake-ups");
	check_with(&s, &verbose, "7 files, 3.0 MiB at most; dropped to make room 0 times", true,
		   "who wants more is told what they took");
	check_with(&s, &verbose, "too late 5 times", true, "and of late wake-ups");
	s.tables_evicted = 1;
	has(&s, "dropped to make room 1 time\n", "tables that were dropped are told to everybody");
	s.tables_refused = 2;
	has(&s, "2 had no room in the kernel", "and so are those without room");
}

static void test_debug_files(void)
{
	static const struct pa_count fetches[] = { { "fetched", "fetched from a server", 2 },
						   { "timeout", "not answered in time", 1 } };
	static const struct pa_fetch_failure failures[] = {
		{ "debug.example:8002", "timeout", "timed out", 1 },
	};
	struct pa_summary s = sample();

	has_not(&s, "\ndebug ", "where nothing is to be fetched nothing is said of it");
	s.fetches = fetches;
	s.nr_fetches = 2;
	s.fetched_bytes = 3 << 20;
	has(&s, "2 debug files fetched from a server\n", "fetched files are counted");
	has(&s, "1 debug file not answered in time\n", "and those that were not, by reason");
	has(&s, "3.0 MiB came from servers", "with their bytes");
	s.fetch_failures = failures;
	s.nr_fetch_failures = 1;
	has(&s, "debug.example:8002: 1 file: timed out\n", "who failed is named, with the reason");
	s.nr_debug_mismatches = 1;
	has(&s, "1 debug file of another build was not used", "a wrong debug file is told of");
	s.nr_unnamed_by_rule = 1;
	has(&s, "1 file without names: --symbol-fail-closed", "so is what the rule left unnamed");
	s.fetch_problem = "the cache is another's";
	has(&s, "nothing was fetched: the cache is another's", "and why nothing was fetched");
}

static void test_unanswered(void)
{
	static const struct pa_unanswered_stat items[] = {
		{ 4711, "maps" }, { 0, "/mnt/x.debug" }, { 3, "root" }, { 4, "root" }
	};
	struct pa_summary s = sample();

	has_not(&s, "\nsilent", "where all answer nothing is said of it");
	s.unanswered = items;
	s.nr_unanswered = 4;
	s.unanswered_seen = 9;
	has(&s, "silent   PID 4711: maps did not answer; it was not asked again\n",
	    "a process that does not answer is named");
	has(&s, "silent   /mnt/x.debug did not answer; it was not asked again\n", "so is a file");
	has(&s, "silent   ... 6 more\n", "the rest is counted");
}

static void test_cases(void)
{
	struct pa_summary s = sample();
	struct report_options opts = wide;

	opts.has_kernel_stacks = true;
	check_with(&s, &opts, "kallsyms", true, "with kernel stacks, the source of their names");
	opts.is_system_wide = true;
	check_with(&s, &opts, "target ", false, "the whole machine has no share of itself");
	opts.json_path = "x.json";
	opts.json_size_bytes = 100;
	check_with(&s, &opts, "x.json (json, 100 B)", true, "the summary's file is named");
	s.event = "cycles";
	has_not(&s, "busy", "cycles say nothing of idle CPUs");
	s.samples = 0;
	s.ticks_other = 250;
	has(&s, "none: the target never ran", "no samples are explained");
	has_not(&s, "nan", "no samples divide nothing by nothing");
	s.ticks_due = s.ticks_idle = s.ticks_other = s.duration_ns = 0;
	s.event = "cpu-clock";
	has_not(&s, "nan", "no ticks divide nothing by nothing");
	has_not(&s, "busy", "no ticks say nothing of busy CPUs");
	has_not(&s, "of the CPU time", "… nor of the target");
	has(&s, "none: no tick at 99 Hz was due", "… and explain that there are no samples");
}

static void test_one_of_each(void)
{
	struct pa_summary s = sample();
	struct pa_unnamed_stat one = unnamed[0];

	one.nr_samples = 1;
	s.unnamed = &one;
	losses[0].count = s.ticks_lost = s.sideband_lost = 1;
	s.samples = s.nr_stacks = s.nr_cpus = s.nr_locations = s.nr_locations_named = 1;
	s.ticks_due = s.ticks_idle + s.ticks_other + 2;
	has(&s, "busy (1 CPU,", "one CPU is one");
	has(&s, "1 in 1 stack of 1 process\n", "one stack is one");
	has(&s, "of 1 address has one\n", "one address is one");
	has(&s, ": 1 sample (", "one sample without a name is one");
	has(&s, "1 tick (", "one lost tick is one");
	has(&s, "1 record about", "one lost record is one");
	has(&s, "+ 1 sample + 1 lost", "one sample of the account is one");
}

static void test_hostile_names(void)
{
	struct pa_summary s = sample();
	char *text = print(&s, &wide);
	bool is_clean = true;

	for (const char *p = text; *p; p++)
		is_clean = is_clean && (*p == '\n' || (*p >= ' ' && *p <= '~'));
	ok(is_clean, "no control character gets through");
	ok(strstr(text, "?[2Jevil? [/tmp/?]0;evil?]") != NULL, "a hostile name stays on its line");
	free(text);
}

/* Paths and cures are there to be copied and are left whole; they begin these lines. */
static bool may_be_long(const char *line)
{
	return !strncmp(line, "wrote", 5) || strstr(line, "fix: ");
}

static void test_width(uint32_t cols)
{
	struct pa_summary s = sample();
	struct report_options opts = { .max_cols = cols };
	char *text, *save, *line;
	size_t longest = 0;

	s.functions_seen = 1000000;
	s.functions_self = s.samples;
	text = print(&s, &opts);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (!may_be_long(line) && strlen(line) > longest)
			longest = strlen(line);
	ok(longest <= cols, "lines fit %u columns (%zu)", cols, longest);
	free(text);
}

#define LONG_WHY                                                                                   \
	"it is stripped, and the server that was asked for its debug information did not answer "  \
	"before the time was over, which was thirty seconds"

/* The text with every run of blanks and line ends as one space. The caller frees it. */
static char *unwrapped(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++)
		if ((*p != ' ' && *p != '\n') || (to > text && to[-1] != ' '))
			*to++ = *p == '\n' ? ' ' : *p;
	*to = '\0';
	return text;
}

/* What a line cannot hold goes on in the next: a reason is there to be read. */
static void test_reasons_are_whole(uint32_t cols)
{
	static const struct pa_unnamed_stat why[] = { { "/opt/lib/libstripped.so.1", 5, LONG_WHY,
							"do it" } };
	static const struct pa_cut_stat cut[] = { { "b", LONG_WHY, "/opt/lib/b.so", 4, NULL } };
	static const struct pa_count fetches[] = { { "timeout", LONG_WHY, 1 } };
	struct pa_summary s = sample();
	char *text;

	s.unnamed = why;
	s.cuts = cut;
	s.nr_cuts = 1;
	s.fetches = fetches;
	s.nr_fetches = 1;
	text = unwrapped(print(&s, &(struct report_options){ .max_cols = cols }));
	ok(strstr(text, "without a name " LONG_WHY " fix: do it"), "%u: why a name is missing",
	   cols);
	ok(strstr(text, "4.0% cut in /opt/lib/b.so " LONG_WHY " "), "%u: why a stack is cut", cols);
	ok(strstr(text, "1 debug file " LONG_WHY " "), "%u: why nothing was fetched", cols);
	free(text);
}

static void test_reason_has_a_line(void)
{
	struct pa_summary s = sample();
	struct report_options opts = { .max_cols = 80 };

	check_with(&s, &opts,
		   "         /opt/libstripped.so: 5 samples (5.0%) without a name\n"
		   "           it has no symbol table\n           fix: install its debug package\n",
		   true, "a reason that does not fit has a line of its own");
	opts.max_cols = 100;
	check_with(&s, &opts, "without a name: it has no symbol table\n", true,
		   "one that fits does not");
}

static void test_naming(void)
{
	static const struct report_options verbose = { .max_cols = TEXT_NO_LIMIT,
						       .is_verbose = true };
	static const struct pa_count failures[] = { { "a", "for a", 0 }, { "b", "for b", 2 } };
	struct pa_summary s = sample();

	s.naming_batches = 3;
	s.naming_addresses = 10;
	s.naming_raw = 2;
	s.naming_fallbacks = 1;
	s.naming_p50_ns = 100000;
	s.naming_p99_ns = 1200000;
	s.naming_max_ns = 34000000;
	s.naming_failures = failures;
	s.nr_naming_failures = 2;
	check_with(
		&s, &verbose,
		"naming   10 addresses in 3 batches (p50 0.1 ms, p99 1.2 ms, max 34.0 ms); 2 raw, "
		"1 fallback\n",
		true, "a verbose report tells what naming did");
	check_with(&s, &verbose, "         2 without a name: for b\n", true,
		   "and why names are missing");
	check_with(&s, &verbose, "name: for a", false, "reasons that did not occur are left out");
	has_not(&s, "batches", "a short report does not go into it");
}

int main(void)
{
	test_numbers();
	test_naming();
	test_kernel_time();
	test_more_functions();
	test_more_cuts();
	test_more_unnamed();
	test_losses();
	test_tables();
	test_debug_files();
	test_cases();
	test_unanswered();
	test_one_of_each();
	test_hostile_names();
	test_reasons_are_whole(80);
	test_reasons_are_whole(40);
	test_reason_has_a_line();
	test_width(200);
	test_width(80);
	test_width(40);
	return tap_done();
}
