/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the report about the capture itself: stacks, symbols, losses, limits, cost. */
#include "report_sample.h"

static void test_stacks(void)
{
	struct pa_summary s = sample();

	has(&s,
	    "\nstacks   90.0% complete\n"
	    "         4.0% truncated in /usr/lib/b.so: stopped for b\n"
	    "           fix: rebuild b\n"
	    "         5.0% truncated in /usr/lib/c.so (3.0%), /usr/lib/d.so (2.0%): stopped for c\n"
	    "         1.0% truncated in /usr/lib/a.so: stopped for a\n"
	    "         1 more, 1.0% of the samples (-v shows more)\nsymbols",
	    "stacks: the first three reasons, each with all of its files and the fix");
	check_with(&s, &verbose, "1.0% truncated in /usr/lib/e.so: stopped for e\nsymbols", true,
		   "-v: all reasons");
	s.truncations_seen = 7;
	s.truncations_samples += 20;
	check_with(&s, &verbose, "2 more, 20.0% of the samples\nsymbols", true,
		   "-v: reasons that the summary does not list are counted");
	s.no_user_stack = 10;
	has(&s, "\nstacks   100.0% complete\n",
	    "stacks: samples without a user stack are neither complete nor truncated");
	check_with(&s, &verbose, "100.0% complete; 10 samples without a user stack\n", true,
		   "-v: they are counted");
	s.no_user_stack = s.samples;
	s.stacks_complete = 0;
	has(&s, "no sample has a user stack\n", "stacks: no sample has a user stack");
}

static void test_small_files(void)
{
	static const struct pa_unnamed_stat files[] = {
		{ .file = "/opt/big.so", .why = "stripped", .fix = "", .nr_samples = 50 },
		{ .file = "/opt/one.so", .why = "stripped", .fix = "", .nr_samples = 10 },
		{ .file = "/opt/tiny.so", .why = "stripped", .fix = "", .nr_samples = 2 },
		{ .file = "/opt/less.so", .why = "stripped", .fix = "", .nr_samples = 1 },
	};
	struct pa_summary s = sample();

	s.samples = 1000;
	s.unnamed = files;
	s.nr_unnamed = s.unnamed_seen = 4;
	s.unnamed_samples = 63;
	has(&s,
	    "6.3% of samples without symbols in /opt/big.so (5.0%), /opt/one.so (1.0%), 2 more "
	    "files (0.3%): "
	    "stripped\n",
	    "symbols: files with less than one percent are counted together");
	check_with(&s, &verbose, "/opt/tiny.so (0.2%), /opt/less.so (0.1%): stripped\n", true,
		   "-v: all files");
	s.nr_unnamed = s.unnamed_seen = 3;
	s.unnamed_samples = 62;
	has(&s, "/opt/one.so (1.0%), /opt/tiny.so (0.2%): stripped\n",
	    "symbols: a single small file has its name");
}

static void test_symbols(void)
{
	struct pa_summary s = sample();

	has(&s,
	    "\nsymbols  90.0% of 10 addresses resolved\n"
	    "         7.0% of samples without symbols in /opt/libstripped.so (5.0%), "
	    "/opt/libthird.so (2.0%): "
	    "it "
	    "has no symbol table\n"
	    "           fix: install its debug package\n"
	    "         3.0% of samples without symbols in /opt/libother.so: it is not "
	    "readable\nlost",
	    "symbols: files with the same reason and fix are one entry");
	has_not(&s, "kernel: ", "symbols: the source of kernel symbols is not shown");
	s.kernel_stacks = true;
	check_with(&s, &verbose, "         kernel: kallsyms\n", true,
		   "-v: with kernel frames, the source of their symbols");
	s.kernel_symbols = "none: kptr_restrict";
	has(&s, "         kernel: none: kptr_restrict\n",
	    "symbols: kernel frames without symbols say why");
}

static void test_losses(void)
{
	struct pa_summary s = sample();

	has(&s, "\nlost     nothing\n", "losses: nothing was lost");
	losses[1].count = ticks->lost = 3;
	ticks->due += 3;
	has(&s, "\nlost     3 ticks (0.3%): lost by y\n", "losses: number, share and reason");
	has_not(&s, "lost by x", "losses: a reason that did not occur is not shown");
	has_not(&s, "lost     nothing", "losses: not nothing");
	s.sideband_lost = 2;
	has(&s, "\nlost     2 records about processes", "losses: records about processes");
	losses[1].count = ticks->lost = 150;
	*idle -= 147;
	has(&s, "on average\nlost     150 ticks (15.0%): lost by y\n",
	    "losses: before the tables if there are many");
	s.nr_sections = 2;
	sections[1] = (struct pa_section){
		.name = "off-cpu", .unit = "interval", .units = "intervals", .due = 100000
	};
	has(&s, "on average\nlost     150 ticks (15.0%): lost by y\n",
	    "losses: many intervals do not hide that many ticks were lost");
	s.nr_sections = 1;
}

static void test_account(void)
{
	struct pa_summary s = sample();

	has_not(&s, "ticks ", "account: not shown while it adds up");
	check_with(&s, &verbose,
		   "ticks    1000 due = 750 idle + 150 other + 0 outside + 100 samples + 0 lost\n",
		   true, "-v: where every tick ended");
	check_with(&s, &verbose, "unexplained", false, "-v: an account that adds up");
	ticks->due++;
	has(&s, "\nticks    1001 due = ", "account: shown if it does not add up");
	has(&s, "0 lost + 1 unexplained\n", "account: with what is missing");
	has(&s, "a bug in perf-agent", "account: and said to be wrong");
	ticks->due -= 3;
	has(&s, "0 lost + -2 unexplained\n", "account: or with what is too much");
}

static void test_more_sections(void)
{
	static const struct pa_count lost = { "x", "lost by z", 1 };
	static const struct pa_count others = { "other", "other", 5 };
	struct pa_summary s = sample();

	s.nr_sections = 2;
	sections[1] = (struct pa_section){ .name = "page-faults",
					   .unit = "page fault",
					   .units = "page faults",
					   .due = 8,
					   .samples = 7,
					   .losses = &lost,
					   .nr_losses = 1,
					   .lost = 1 };
	check_with(&s, &verbose, "ticks    1000 due = ", true, "-v: the account of ticks");
	check_with(&s, &verbose, "events   page faults: 8 due = 7 samples + 1 lost\n", true,
		   "-v: the account of a second kind of event");
	has(&s, "lost     1 page fault (12.5%): lost by z\n", "losses: a second kind has its unit");
	has_not(&s, "lost     nothing", "losses: of one kind are losses");
	sections[1].counts = &others;
	sections[1].nr_counts = 1;
	has(&s, "lost     1 page fault (12.5% of those of all processes): lost by z\n",
	    "losses: where other processes are counted, too, it is said");
	sections[1].nr_counts = 0;
	s.sections = &sections[1];
	s.nr_sections = 1;
	has_not(&s, "CPUs", "head: without ticks nothing is known about CPUs");
	s.samples = 0;
	has(&s, "\nno samples\n", "head: without ticks nothing is known about missing samples");
}

/* Stacks of another kind of event can be truncated while those of the first are complete. */
static void test_compiled_tables(void)
{
	struct pa_summary s = sample();

	s.nr_tables = 3;
	s.tables_shared = 2;
	s.table_rows_in_agent = 5;
	s.cfi_unused = 7;
	check_with(&s, &verbose,
		   "2 shared by equal files; 5 rows are left to the agent; 7 entries are about no "
		   "code\n",
		   true, "-v: what compiling left to others");
	has_not(&s, "left to the agent", "tables: only with -v");
}

static void test_stacks_of_sections(void)
{
	static const struct pa_count ends[] = { { "complete", "reached the end", 1 } };
	static const struct pa_truncation_stat truncation = { "b", "stopped for b", "/usr/lib/w.so",
							      15, "fix w" };
	static const struct pa_unnamed_stat bare = { "/opt/w.so", 4, "it has no symbols", NULL };
	struct pa_summary s = sample();

	s.nr_sections = 2;
	sections[1] = (struct pa_section){ .name = "off-cpu",
					   .unit = "interval",
					   .units = "intervals",
					   .due = 20,
					   .samples = 20,
					   .stacks_complete = 5,
					   .stops = ends,
					   .nr_stops = 1,
					   .truncations = &truncation,
					   .nr_truncations = 1,
					   .truncations_seen = 1,
					   .truncations_samples = 15,
					   .unnamed = &bare,
					   .nr_unnamed = 1,
					   .unnamed_seen = 1,
					   .unnamed_samples = 4 };
	has(&s, "stacks   90.0% complete\n", "stacks: those of the first kind");
	has(&s, "         off-cpu: 25.0% complete\n", "stacks: and those of the second");
	has(&s, "75.0% truncated in /usr/lib/w.so: stopped for b\n",
	    "stacks: with where they are truncated");
	has(&s, "20.0% of off-cpu without symbols in /opt/w.so: it has no symbols\n",
	    "symbols: of the second kind");
	s.samples = s.stacks_complete = s.truncations_seen = s.nr_truncations = 0;
	has(&s, "stacks   off-cpu: 25.0% complete\n", "stacks: of the second kind alone");
	sections[1].nr_stops = 0;
	has_not(&s, "off-cpu:", "stacks: nothing is said of events without stacks");
}

/* Intervals that the options exclude are counted, so "nothing waited" would be wrong. */
static void test_no_waits(void)
{
	static struct pa_count outside[] = { { "too_short", "too short", 0 },
					     { "other_states", "other states", 0 } };
	struct pa_summary s = sample();

	*ticks = (struct pa_section){ .name = "off-cpu",
				      .unit = "interval",
				      .units = "intervals",
				      .counts = outside,
				      .nr_counts = 2 };
	s.samples = 0;
	has(&s, "no thread of the target waited\n", "no waits: the target did not wait");
	outside[0].count = 5;
	has(&s, "no waits to show: 5 too short (--min-block)\n", "no waits: all were too short");
	outside[1].count = 7;
	has(&s,
	    "no waits to show: 5 too short (--min-block), 7 in other states (--offcpu-states)\n",
	    "no waits: too short, and in states that were not asked for");
	outside[0].count = 0;
	has(&s, "no waits to show: 7 in other states (--offcpu-states)\n",
	    "no waits: all were in states that were not asked for");
}

/* What is left out is followed by the option that shows it. */
static void test_more_waits(void)
{
	static const struct pa_wait_stat wait = { "f < main", "sleep", "read", 1, 1000000000 };
	const struct report_options top = { .max_cols = 80, .top = 1 };
	struct pa_summary s = sample();

	s.waits = &wait;
	s.nr_waits = 1;
	s.waits_seen = 40;
	s.off_cpu_ns = 1000000000;
	s.off_cpu_intervals = 40;
	has(&s, "39 more (-v)\n", "more waits: -v shows some");
	check_with(&s, &verbose, "39 more (--top N)\n", true,
		   "more waits: --top shows more than -v");
	check_with(&s, &top, "39 more\n", true, "more waits: --top shows as many as it says");
}

static void test_tables(void)
{
	struct pa_summary s = sample();

	s.nr_tables = 7;
	s.tables_peak_bytes = 3 << 20;
	s.tables_evicted = 1;
	s.notices_lost = 5;
	s.walks_finished = 2;
	has_not(&s, "tables", "tables: not shown by default");
	has_not(&s, "late", "late wake-ups: not shown by default");
	check_with(&s, &verbose,
		   "tables   unwind tables of 7 files, 3.0 MiB at most; 1 dropped to make room\n",
		   true, "-v: unwind tables");
	check_with(&s, &verbose, "woken    late 5 times", true, "-v: late wake-ups");
	check_with(&s, &verbose, "unwound  2 stacks by the agent", true,
		   "-v: stacks that the agent unwound");
	check_with(&s, &verbose, "samples  100 at 100 Hz in 12 different stacks\n", true,
		   "-v: samples and stacks");
	ticks->name = "off-cpu";
	check_with(&s, &verbose, "samples  100 in 12 different stacks\n", true,
		   "-v: intervals have no rate");
	ticks->name = "on-cpu";
	s.tables_refused = 2;
	has(&s, "2 unwind tables had no room in the kernel",
	    "tables: those without room are shown");
}

static void test_debug_files(void)
{
	static const struct pa_count fetches[] = { { "fetched", "fetched from a server", 2 },
						   { "timeout", "not answered in time", 1 } };
	static const struct pa_fetch_failure failures[] = {
		{ "debug.example:8002", "timeout", "timed out", 1 },
	};
	struct pa_summary s = sample();

	has_not(&s, "\ndebug ", "debug files: not shown if none was wanted");
	s.fetches = fetches;
	s.nr_fetches = 2;
	s.fetched_bytes = 3 << 20;
	has(&s, "2 debug files fetched from a server\n", "debug files: fetched ones are counted");
	has(&s, "1 debug file not answered in time\n", "debug files: failures by reason");
	has(&s, "3.0 MiB downloaded", "debug files: bytes from servers");
	s.fetch_failures = failures;
	s.nr_fetch_failures = 1;
	has(&s, "debug.example:8002: 1 file: timed out\n", "debug files: the server that failed");
	s.nr_debug_mismatches = 1;
	has(&s, "1 debug file of another build not used", "debug files: a wrong one is reported");
	s.nr_unnamed_by_rule = 1;
	has(&s, "1 file without symbols: --symbol-fail-closed",
	    "debug files: files without symbols because of --symbol-fail-closed");
	s.fetch_problem = "the cache is another's";
	has(&s, "nothing could be fetched: the cache is another's",
	    "debug files: why nothing could be fetched");
}

static void test_gaps(void)
{
	static const struct pa_count gaps[] = { { "maps_lines", "lines were not understood", 0 },
						{ "files_closed", "files were closed", 3 },
						{ "waits_full", "waits were recorded", 1 } };
	struct pa_summary s = sample();

	has_not(&s, "\ngaps", "gaps: not shown if nothing was dropped");
	s.gaps = gaps;
	s.nr_gaps = 3;
	has(&s, "gaps     3 files were closed\n", "gaps: number and reason");
	has(&s, "gaps     1 case: waits were recorded\n",
	    "gaps: a single one has a text that fits");
	has_not(&s, "lines were not understood", "gaps: a reason without a count is not shown");
}

static void test_unanswered(void)
{
	static const struct pa_unanswered_stat items[] = {
		{ 4711, "maps" }, { 0, "/mnt/x.debug" }, { 3, "root" }, { 4, "root" }
	};
	struct pa_summary s = sample();

	has_not(&s, "\nsilent", "silent: not shown if all answered");
	s.unanswered = items;
	s.nr_unanswered = 4;
	s.unanswered_seen = 9;
	has(&s, "silent   PID 4711: no answer from maps; not asked again\n",
	    "silent: a process that did not answer");
	has(&s, "silent   no answer from /mnt/x.debug; not asked again\n",
	    "silent: a file that did not answer");
	has(&s, "silent   6 more\n", "silent: the rest is counted");
}

static void test_no_samples(void)
{
	struct pa_summary s = sample();

	s.samples = ticks->samples = s.nr_functions = s.nr_paths = s.nr_functions_by_total = 0;
	*other = 250;
	has(&s, "Linux 6.18.5\nno samples: the target was never on a CPU when a sample was due",
	    "no samples: the target never ran");
	has_not(&s, "nan", "no samples: no share of nothing");
	s.all = true;
	has(&s, "no samples: all CPUs were idle", "no samples: the machine was idle");
	counts[2].count = 1;
	has(&s, "no samples: only processes outside", "no samples: another PID namespace");
	counts[2].count = 0;
	ticks->lost = ticks->due;
	has(&s, "no samples: all of them were lost", "no samples: all were lost");
	ticks->due = *idle = *other = ticks->lost = s.duration_ns = 0;
	has_not(&s, "nan", "no ticks: no share of nothing");
	has(&s, "no samples: at 100 Hz none was due within", "no ticks: the capture was too short");
}

static void test_one_of_each(void)
{
	struct pa_summary s = sample();

	losses[0].count = ticks->lost = s.sideband_lost = 1;
	ticks->samples = s.samples = s.nr_stacks = s.nr_cpus = s.nr_locations =
		s.nr_locations_named = 1;
	ticks->due = *idle + *other + 2;
	has(&s, "of 1 CPU on average", "singular: CPU");
	has(&s, "of 1 address resolved\n", "singular: address");
	has(&s, "1 tick (", "singular: tick");
	has(&s, "1 record about", "singular: record");
	check_with(&s, &verbose, "1 at 100 Hz in 1 different stack\n", true, "singular: stack");
	check_with(&s, &verbose, "+ 1 sample + 1 lost", true, "singular: sample");
}

static void test_symbolizing(void)
{
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
	check_with(&s, &verbose,
		   "resolved 10 addresses in 3 batches (p50 0.1 ms, p99 1.2 ms, max 34.0 ms); 2 "
		   "raw, 1 fallback\n",
		   true, "-v: how symbols were resolved");
	check_with(&s, &verbose, "         2 without a symbol: for b\n", true,
		   "-v: why symbols are missing");
	check_with(&s, &verbose, "symbol: for a", false, "-v: only reasons that occurred");
	check_with(&s, &verbose, "known from another", false,
		   "-v: nothing about shared symbols of a single profile");
	s.naming_shared = 4;
	check_with(&s, &verbose, "         4 addresses known from another profile of this run\n",
		   true, "-v: symbols that two profiles share");
	has_not(&s, "batches", "batches: not shown by default");
}

static void test_overhead(void)
{
	struct pa_summary s = sample();

	has(&s,
	    "\noverhead 0.04 s CPU while sampling (0.10 s in all), 32.0 MiB "
	    "peak\n",
	    "overhead: CPU time and memory");
	has_not(&s, "woken up", "wake-ups: not shown by default");
}

static void test_overhead_in_detail(void)
{
	static const struct pa_program_stat programs[] = {
		{ "pa_oncpu", 1980, 9100000 },
		{ "pa_fork", 1, 900000 },
		{ "pa_exit", 0, 0 },
	};
	struct pa_summary s = sample();

	s.agent_wakeups = 41;
	s.agent_sampling_wakeups = 1;
	check_with(&s, &verbose, "\n         woken up 1 time while sampling (41 in all)\n", true,
		   "-v: wake-ups");
	check_with(&s, &verbose, "BPF programs", false, "-v: no run times that nobody measured");
	s.no_program_times = "that needs CAP_SYS_ADMIN";
	check_with(&s, &verbose, "\n         BPF programs not measured: that needs CAP_SYS_ADMIN\n",
		   true, "-v: why run times were not measured");
	s.no_program_times = NULL;
	s.programs = programs;
	s.nr_programs = 3;
	s.programs_ns = 10000000;
	check_with(&s, &verbose,
		   "\n         10.0 ms in BPF programs: pa_oncpu 9.1 ms (1980 runs), pa_fork 0.9 "
		   "ms (1 "
		   "run)\n",
		   true, "-v: the run time of each BPF program that ran");
}

int main(void)
{
	test_stacks();
	test_small_files();
	test_symbols();
	test_losses();
	test_account();
	test_more_sections();
	test_compiled_tables();
	test_stacks_of_sections();
	test_no_waits();
	test_more_waits();
	test_tables();
	test_debug_files();
	test_gaps();
	test_unanswered();
	test_no_samples();
	test_one_of_each();
	test_symbolizing();
	test_overhead();
	test_overhead_in_detail();
	return tap_done();
}
