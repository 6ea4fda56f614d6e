/* SPDX-License-Identifier: Apache-2.0 */
#include "report_sample.h"

static void test_target(void)
{
	struct pa_summary s = sample();

	has(&s, "PID 4711 (app): for 10s, on db1, Linux 6.18.5\n",
	    "head: target, duration, host and kernel");
	s.duration_ns = 1912345678;
	s.end_reason = "stopped";
	has(&s, "PID 4711 (app): 1.9s of 10s, until stopped, on db1",
	    "head: a capture that was stopped early says how much of its time it had");
	s.duration_asked_ns = 0;
	has(&s, "PID 4711 (app): 1.9s, until stopped, on db1",
	    "head: a capture without a duration was stopped");
	s.end_signal = "SIGTERM";
	has(&s, "PID 4711 (app): 1.9s, until SIGTERM, on db1",
	    "head: the signal that stopped a capture");
	s.end_reason = "command_exited";
	s.end_signal = "SIGSEGV";
	has(&s, "1.9s, until it was killed by SIGSEGV (its children run on), on db1",
	    "head: the signal that killed the command");
	s.end_signal = NULL;
	s.end_reason = "targets_exited";
	s.target_text = "make -j2";
	has(&s, "make -j2: 1.9s, until it exited, on db1",
	    "head: a capture that ended with its command says so");
	s.end_reason = "command_exited";
	has(&s, "make -j2: 1.9s, until it exited (its children run on), on db1",
	    "head: a capture that ended with its command says that others run on");
	s.end_reason = "targets_exited";
	s.nr_pids = 2;
	has(&s, "1.9s, until all exited, on db1", "head: several processes have all exited");
	s.target_text =
		"\x1b[2Jsh -c 'a command line of more than a hundred columns, which do not all "
		"fit into the first line of the report'";
	has(&s, "?[2Jsh -c 'a command line of more than",
	    "head: a command line has no control characters");
	has(&s, "...: 1.9s", "head: a long command line is shortened");
	check_with(&s, &(struct report_options){ .max_cols = 80 },
		   "?[2Jsh -c 'a command line of mo...: 1.9s, until all exited, on db1, Linux "
		   "6.18.5\n",
		   true, "head: a command line leaves room for the rest of the line");
	s.target_text = "PID 4194304 (a-long-comm-123)";
	check_with(&s, &(struct report_options){ .max_cols = 20 }, "PID 4194304\n", true,
		   "head: a PID is whole on the narrowest terminal");
}

static void test_cpu_time(void)
{
	struct pa_summary s = sample();
	struct pa_count lost = { "not_delivered", "not delivered by the kernel", 200 };

	has(&s, "\n1.00s CPU in 1 process, 0.40 of 4 CPUs on average\n",
	    "head: CPU time of the target, and its share of the machine");
	s.processes_seen = 3;
	has(&s, "\n1.00s CPU in 1 process (3 by name), 0.40",
	    "head: processes, and how many the table has since some changed their name");
	s.processes_seen = 1;
	s.samples_in_kernel = 9;
	has(&s, "on average, 9.0% in the kernel\n", "head: little time in the kernel");
	s.samples_in_kernel = 40;
	has(&s, "on average, 40.0% in the kernel (--kernel-stacks shows where)\n",
	    "head: much time in the kernel comes with the flag that shows it");
	s.kernel_stacks = true;
	has(&s, "on average, 40.0% in the kernel\n",
	    "head: with kernel stacks the flag is not suggested");
	s.all = true;
	has(&s, "1 process, 4 CPUs 25.0% busy, 40.0% in",
	    "head: of a whole machine, how busy it was");
	ticks->losses = &lost;
	ticks->nr_losses = 1;
	ticks->lost = 200;
	*idle = 550;
	has(&s, "4 CPUs 25.0% busy (20.0% unknown), 40.0%",
	    "head: ticks that were not delivered are neither busy nor idle");
	s.event = "cycles";
	has(&s, "\n100 samples of cycles in 1 process, 40.0% in the kernel",
	    "head: cycles measure neither seconds nor idle CPUs");
	has_not(&s, "cpu-s", "tables: cycles have no column of seconds");
}

static void test_kernel_account(void)
{
	struct pa_summary s = sample();

	s.targets_cpu_ns = 1010000000;
	has(&s, "\n1.00s CPU in 1 process, 0.10 of 4 CPUs on average\n",
	    "head: CPUs on average by the scheduler's account");
	s.targets_cpu_ns = 1290000000;
	has(&s, "\n1.00s CPU in 1 process, 0.13 of 4 CPUs",
	    "head: 100 samples may miss the scheduler's account by 30");
	s.targets_cpu_ns = 1500000000;
	has(&s, "\n1.00s CPU (1.50s by the scheduler) in 1 process",
	    "head: CPU time by the scheduler's account, if it differs from the samples");
	s.all = true;
	s.targets_cpu_ns = 30000000000;
	has(&s, ", 4 CPUs 75.0% busy\n", "head: how busy CPUs were by the scheduler's account");
}

static void test_steal(void)
{
	static const struct pa_count lost[] = { { "not_delivered", "not delivered", 300 },
						{ "ring_full", "no room", 3 } };
	struct pa_summary s = sample();

	ticks->losses = lost;
	ticks->lost = 303;
	*idle -= 303;
	has(&s, "lost     300 ticks (30.0%): not delivered\n", "steal: not known");
	s.steal_ns = 12400000000;
	has(&s,
	    "on average\nlost     300 ticks (30.0%): not delivered; the host took 31% of the CPU "
	    "time (steal)\nlost     3 ticks (0.3%): no room\n\n",
	    "steal: named beside the ticks that were not delivered, and before the tables");
	s.steal_ns = 1;
	has_not(&s, "steal", "steal: little is not worth a word");
}

static void test_runtime_hints(void)
{
	static const struct pa_unnamed_stat jit = { "[jit]", 5, "no perf map", "jcmd" };
	struct pa_hint hint = { "java", "no_symbols", "java (PID 7): no symbols; jcmd 7", 60, 1 };
	struct pa_summary s = sample();

	s.unnamed = &jit;
	s.nr_unnamed = s.unnamed_seen = 1;
	s.hints = &hint;
	s.nr_hints = 1;
	has(&s, "on average\n\nhint     java (PID 7): no symbols; jcmd 7\n\n   cpu-s   self",
	    "hints: if one is about most of the samples, it alone precedes the functions");
	has(&s,
	    "\nsymbols  90.0% of 10 addresses resolved\n"
	    "         5.0% of samples without symbols in [jit]: no perf map\nlost",
	    "hints: one that precedes the functions does not follow them as well");
	has_not(&s, "fix: jcmd", "hints: a fix is not repeated");
	hint.nr_samples = 50;
	has(&s, "\nhint     java (PID 7): no symbols; jcmd 7\nlost",
	    "hints: half of the samples are not most of them");
	hint.nr_samples = 40;
	has(&s, "\nhint     java (PID 7): no symbols; jcmd 7\nlost",
	    "hints: others follow the tables");
	hint.nr_samples = 0;
	has_not(&s, "java", "hints: none for hardly any samples");
	check_with(&s, &verbose, "java", true, "-v: all hints");
}

static void test_unnamed_code(void)
{
	static const struct pa_function_stat jit[] = { { "", "[jit]", 60, 60, true } };
	static const struct pa_unnamed_stat why[] = { { "[jit]", 60, "no perf map", "write one" } };
	struct pa_summary s = sample();

	s.unnamed = why;
	s.nr_unnamed = s.unnamed_seen = 1;
	s.unnamed_samples = 60;
	s.nr_truncations = s.truncations_seen = 0;
	has(&s, "complete\nsymbols  90.0%",
	    "symbols: files of stripped programs follow the functions");
	s.functions = jit;
	s.nr_functions = s.functions_seen = 1;
	has(&s,
	    "on average\n\nsymbols  90.0% of 10 addresses resolved\n"
	    "         60.0% of samples without symbols in [jit]: no perf map\n"
	    "           fix: write one\n\n   cpu-s",
	    "symbols: if most samples are one row without a name, why precedes the functions");
}

/* Lines before the one that has text; 0: none has. */
static size_t lines_before(const char *page, const char *text)
{
	const char *end = strstr(page, text);
	size_t nr = 0;

	for (const char *at = page; end && (at = strchr(at, '\n')) && at < end; at++)
		nr++;
	return nr;
}

static void test_first_screen(void)
{
	static struct pa_function_stat by_self[20], totals[20];
	static struct pa_command_stat many[20];
	struct pa_summary s = sample();
	char *text;

	for (size_t i = 0; i < 20; i++) {
		by_self[i] = (struct pa_function_stat){ "f", "/a", 5, 5, false };
		totals[i] = (struct pa_function_stat){ "g", "/a", 0, 90 - 4 * i, false };
		many[i] = (struct pa_command_stat){ "sh", 5, 0, 1 };
	}
	s.functions = by_self;
	s.functions_by_total = totals;
	s.commands = many;
	s.nr_functions = s.functions_seen = s.nr_functions_by_total = 20;
	s.functions_self = 100;
	text = print(&s, &wide);
	ok(lines_before(text, "hot paths") == 16,
	   "first screen: of one process, rows up to the first of the hot paths");
	free(text);
	s.nr_processes = s.nr_commands = s.commands_seen = 20;
	text = print(&s, &wide);
	ok(lines_before(text, "hot paths") == 17 &&
		   lines_before(text, "self time") == lines_before(text, "  command\n") + 5,
	   "first screen: with a table of commands, every table has fewer rows");
	free(text);
	text = print(&s, &verbose);
	ok(lines_before(text, "hot paths") > 3 * 20, "-v: tables are not shortened for a screen");
	free(text);
}

static void test_few_samples(void)
{
	struct pa_summary s = sample();

	has_not(&s, "only ", "head: 100 samples are not few");
	s.samples = 3;
	has(&s, "\nonly 3 samples, so all shares are rough: sample more often (-F 999) or longer\n",
	    "head: 3 samples are few, and what to do");
	s.samples = 1;
	s.sample_rate_hz = 999;
	has(&s, "\nonly 1 sample, so all shares are rough: sample longer\n",
	    "head: at a high rate only time helps");
}

static void test_commands(void)
{
	static struct pa_command_stat many[20];
	struct pa_summary s = sample();

	has_not(&s, "  command\n", "commands: one process has no table");
	s.nr_processes = 20;
	s.nr_commands = 3;
	s.commands_seen = 3;
	has(&s,
	    "\n   cpu-s  share  kernel  procs  command\n"
	    "    0.80  80.0%   10.0%      7  cc1\n"
	    "    0.15  15.0%   33.3%      1  ld\n"
	    "    0.04   4.0%  100.0%     12  ?[2Jsh?\n\n",
	    "commands: seconds, share, share in the kernel, processes and a clean name");
	s.commands_seen = 5;
	s.nr_functions = s.nr_functions_by_total = s.functions_seen = 0; /* makes room */
	has(&s, "\n    0.01   1.0%                 2 more\n\n", "commands: the rest is summed up");
	for (size_t i = 0; i < 20; i++)
		many[i] = (struct pa_command_stat){ "sh", i < 5 ? 19 : 0, 0, 1 };
	s.commands = many;
	s.nr_commands = s.commands_seen = 20;
	has(&s, "  sh\n    0.05   5.0%                 15 more\n",
	    "commands: those below a per cent are not listed");
	check_with(&s, &verbose, " more\n", false, "commands: -v lists them all");
	check_with(&s, &(struct report_options){ .max_cols = 20 },
		   "\n  share  command\n  19.0%  sh\n", true,
		   "commands: a narrow table has the share and the name");
}

static void test_functions(void)
{
	struct pa_summary s = sample();
	struct report_options opts = wide;

	has(&s,
	    "\n   cpu-s   self  total  functions by self time\n"
	    "    0.60  60.0%  61.0%  hot [app]\n"
	    "    0.20  20.0%  20.0%  ?[2Jevil? [/tmp/?]0;evil?]\n",
	    "functions: by self time, with seconds, self, total, name and file");
	has(&s, "   5.0%   6.0%  code without symbols [jit]\n",
	    "functions: all code without symbols of a file is one row");
	has(&s,
	    "\n   cpu-s  total   self  functions by total time\n"
	    "    0.95  95.0%   1.0%  serve [app]\n"
	    "    0.30  30.0%   0.0%  parse [app]\n\n",
	    "functions: by total time, without those that the first list says all about");
	s.samples = 2000;
	has_not(&s, "parse [app]", "functions: small totals are left out of short lists");
	has_not(&s, "[jit]\n\n   cpu-s  total", "functions: so are small self times");
	s.samples = 100;
	opts.sort = REPORT_SORT_TOTAL;
	check_with(&s, &opts, "by self time", false, "--sort total: no list by self time");
	check_with(&s, &opts, "\n    0.61  61.0%  60.0%  hot [app]\n", true,
		   "--sort total: all functions");
	opts.sort = REPORT_SORT_SELF;
	check_with(&s, &opts, "by total time", false, "--sort self: no list by total time");
	opts.top = 1;
	check_with(&s, &opts, "  hot [app]\n    0.35  35.0%         3 more\n", true,
		   "--top 1: one row, and how much is left out");
	opts.sort = REPORT_SORT_BOTH;
	check_with(&s, &opts, "  serve [app]\n\n", true, "--top 1: one row by total time, too");
	opts.top = 0;
	opts.is_verbose = true;
	check_with(&s, &opts, "  hot [/usr/bin/app]\n", true, "-v: files with their paths");
}

static void test_same_totals(void)
{
	static const struct pa_function_stat chain[] = {
		{ "outer", "/a", 0, 50, false },
		{ "middle", "/a", 0, 50, false },
		{ "inner", "/a", 0, 50, false },
		{ "leaf", "/a", 5, 20, false },
	};
	static const struct pa_function_stat near[] = {
		{ "main", "/usr/bin/app", 1, 98, false },
		{ "loop", "/usr/bin/app", 0, 97, false },
		{ "other", "/usr/bin/app", 0, 97, false },
	};
	static const struct pa_function_stat stripped[] = {
		{ "a+0x3f960", "/a", 5, 50, false },
		{ "sorted", "/a", 0, 50, false },
	};
	struct pa_summary s = sample();
	struct report_options opts = { .max_cols = TEXT_NO_LIMIT, .sort = REPORT_SORT_TOTAL };

	s.functions_by_total = chain;
	s.nr_functions_by_total = 4;
	has(&s, "  outer [a] and 2 more\n    0.20  20.0%   5.0%  leaf [a]\n",
	    "functions: those with the same total are one row of a short list");
	check_with(&s, &opts, "  outer [a]\n    0.50  50.0%   0.0%  middle [a]\n", true,
		   "--sort total: a row for each function");
	s.functions_by_total = near;
	s.nr_functions_by_total = 3;
	has(&s, "  main [app] and 1 more\n    0.97  97.0%   0.0%  other [app]\n",
	    "functions: a caller and its callee with nearly the same total are one row, others "
	    "not");
	s.functions_by_total = stripped;
	s.nr_functions_by_total = 2;
	has(&s, "  sorted [a] and 1 more\n",
	    "functions: the row of several with the same total has a symbol if one of them has");
}

static void test_more_functions(void)
{
	static struct pa_function_stat many[40];
	struct report_options opts = wide;
	struct pa_summary s = sample();

	for (size_t i = 0; i < 40; i++)
		many[i] = (struct pa_function_stat){ "f", "/a", 2, 2, false };
	has_not(&s, "(--top N)", "functions: a whole list does not mention more");
	s.functions = many;
	s.nr_functions = 40;
	s.functions_seen = 50;
	s.functions_self = 12;
	has_not(&s, " more (--top N)",
		"functions: callers without samples of their own are not counted");
	s.functions_self = 100;
	has(&s, "[a]\n    0.88  88.0%         44 more (--top N)\n\n",
	    "functions: 6 rows, then how many more, and their share");
	opts.sort = REPORT_SORT_SELF;
	check_with(&s, &opts, "[a]\n    0.80  80.0%         40 more (--top N)\n", true,
		   "--sort self: 10 rows");
	opts.is_verbose = true;
	check_with(&s, &opts, "\n    0.40  40.0%         20 more (--top N)\n", true, "-v: 30 rows");
	opts.top = 35;
	check_with(&s, &opts, "\n    0.30  30.0%         15 more\n", true, "--top wins over -v");
}

static void test_functions_side_by_side(void)
{
	struct pa_summary s = sample();
	struct report_options opts = { .max_cols = 160 };

	check_with(&s, &opts, "    0.95  95.0%   1.0%  serve [app]\n", true,
		   "functions: by total time on the right of a wide terminal");
	check_with(&s, &opts, "    0.60  60.0%  61.0%  hot [app]  ", true,
		   "functions: by self time on the left of a wide terminal");
	opts.max_cols = 159;
	check_with(&s, &opts, "hot [app]\n", true, "functions: one below the other on others");
	opts.max_cols = TEXT_NO_LIMIT;
	check_with(&s, &opts, "hot [app]\n", true, "functions: one below the other in a file");
}

static void test_paths(void)
{
	static struct pa_path_stat many[12];
	struct pa_summary s = sample();
	struct report_options opts = { .max_cols = 40 };

	has(&s,
	    "\n   cpu-s  share  hot paths (caller > callee)\n"
	    "    0.98  98.0%  main > loop\n"
	    "    0.60  60.0%    serve > ... > hot\n"
	    "    0.30  30.0%    [jit]\n\n",
	    "paths: chains in lines, branches indented, skipped functions and code without symbols "
	    "marked");
	for (size_t i = 0; i < 12; i++)
		many[i] = (struct pa_path_stat){ .depth = i != 0,
						 .name = i == 3 ? "cold" : "warm",
						 .file = "/a",
						 .nr_samples = i == 0   ? 100
							       : i == 3 ? 1
									: 9 };
	s.paths = many;
	s.nr_paths = 12;
	has_not(&s, "cold", "paths: the hottest 8 lines");
	check_with(&s, &verbose, "cold", true, "-v: more lines");
	for (size_t i = 0; i < 12; i++)
		many[i] = (struct pa_path_stat){ .continues = i != 0,
						 .name = i == 11 ? "the_last" : "caller",
						 .file = "/a",
						 .nr_samples = 100 };
	check_with(&s, &opts, "100.0%  ... > caller > the_last\n", true,
		   "paths: a chain that does not fit keeps its end");
}

/* A name of 12 * 16 letters, and a chain of such. */
static void test_long_names_in_files(void)
{
	static char name[12 * 16 + 1];
	static struct pa_path_stat chain[12];
	struct pa_function_stat f = { name, "/usr/lib/libvery.so", 100, 100, false };
	struct pa_summary s = sample();
	char *text;

	for (size_t i = 0; i < 12; i++) {
		memcpy(name + 16 * i, "ns_of_16_letters", 16);
		chain[i] = (struct pa_path_stat){
			.continues = i != 0, .name = name, .file = "/a", .nr_samples = 100
		};
	}
	s.functions = s.functions_by_total = &f;
	s.nr_functions = s.nr_functions_by_total = s.functions_seen = 1;
	s.functions_self = 100;
	s.paths = chain;
	s.nr_paths = 12;
	text = print(&s, &(struct report_options){ .max_cols = TEXT_NO_LIMIT });
	for (const char *at = text; *at; at += strcspn(at, "\n") + 1)
		if (strstr(at, "ns_of_16") && strcspn(at, "\n") > 200) {
			printf("# %.*s\n", (int)strcspn(at, "\n"), at);
			free(text);
			text = NULL;
			break;
		}
	ok(text != NULL, "a file: lines of functions and of paths have at most 200 columns");
	free(text);
}

static void test_starts_of_paths(void)
{
	static const struct pa_path_stat rows[] = {
		{ .name = "_start", .file = "/a", .nr_samples = 100, .is_start = true },
		{ .name = "main", .file = "/a", .nr_samples = 99, .is_start = true },
		{ .name = "init", .file = "/a", .nr_samples = 98, .is_start = true },
		{ .name = "loop", .file = "/a", .nr_samples = 97, .is_start = true },
		{ .name = "work", .file = "/a", .nr_samples = 96 },
		{ .depth = 1,
		  .name = "start_thread",
		  .file = "/a",
		  .nr_samples = 50,
		  .is_start = true },
		{ .depth = 1, .name = "leaf", .file = "/a", .nr_samples = 50 },
	};
	struct pa_path_stat chain[7];
	struct pa_summary s = sample();

	memcpy(chain, rows, sizeof(chain));
	for (size_t i = 1; i < 7; i++)
		chain[i].continues = i != 5;
	s.paths = chain;
	s.nr_paths = 7;
	has(&s, "0.99  99.0%  main > init > loop > work\n    0.50  50.0%    start_thread > leaf\n",
	    "paths: a line begins after the start code, and with its samples");
	check_with(&s, &verbose, "1.00 100.0%  _start > main > init > loop > work\n", true,
		   "-v: paths begin with all start functions");
	s.nr_paths = 2;
	has(&s, "0.99  99.0%  main\n", "paths: a line leaves out _start");
	chain[0].name = "libc+0x271d0";
	chain[0].file = "/lib/x86_64-linux-gnu/libc.so.6";
	has(&s, "0.99  99.0%  main\n",
	    "paths: a line leaves out functions of a stripped C library");
	chain[1].name = "start_thread";
	has(&s, "0.99  99.0%  start_thread\n", "paths: a line has at least one function");
	s.nr_paths = 5;
	chain[0].name = "main";
	chain[1].name = "Py_BytesMain";
	chain[2].name = "pymain_run_python.constprop.0";
	has(&s, "0.97  97.0%  loop > work\n",
	    "paths: the start of a Python interpreter is left out");
}

static void test_scripts(void)
{
	static const struct pa_function_stat runs[] = {
		{ "run", "[jit]", 40, 60, false, false, "/srv/m1.py" },
		{ "run", "[jit]", 30, 30, false, false, "/srv/m2.py" },
		{ "load", "[jit]", 20, 20, false, false, "[kernel]" },
		{ "stop", "[jit]", 10, 10, false, false, NULL },
	};
	static const struct pa_path_stat rows[] = {
		{ .name = "main", .file = "[jit]", .nr_samples = 90, .source = "/srv/m1.py" },
		{ .depth = 1,
		  .name = "run",
		  .file = "[jit]",
		  .nr_samples = 60,
		  .source = "/srv/m1.py" },
		{ .depth = 1,
		  .name = "run",
		  .file = "[jit]",
		  .nr_samples = 30,
		  .source = "/srv/m2.py" },
	};
	struct pa_summary s = sample();

	s.functions = runs;
	s.nr_functions = s.functions_seen = 4;
	s.paths = rows;
	s.nr_paths = 3;
	has(&s, "  run [m1.py]\n", "functions: one of a script has its file in brackets");
	has(&s, "  run [m2.py]\n", "functions: two of one name in two scripts are told apart");
	check_with(&s, &verbose, "  run [/srv/m2.py]\n", true,
		   "-v: functions of scripts have their paths");
	has(&s, "  load [jit]\n", "functions: a script's file cannot pretend to be the kernel");
	has(&s, "  stop [jit]\n", "functions: without a script they are generated code");
	has(&s, "%  main\n", "paths: a name that only one script has is alone");
	has(&s, "%    run (m1.py)\n",
	    "paths: a name that two scripts have is followed by the file");
}

/* The Python functions, which are in each stack, have no self: the interpreter runs them. */
static void test_functions_of_each_stack(void)
{
	static const struct pa_function_stat list[] = {
		{ "_start", "/a", 0, 100, false, true, NULL },
		{ "<module>", "[jit]", 0, 100, false, false, "/srv/app.py" },
		{ "Py_RunMain", "/a", 0, 100, false, true, NULL },
		{ "eval", "/a", 2, 100, false, true, NULL },
		{ "main", "[jit]", 0, 100, false, false, "/srv/app.py" },
		{ "work", "[jit]", 0, 99, false, false, "/srv/app.py" },
		{ "load", "[jit]", 0, 40, false, false, "/srv/app.py" },
	};
	static const struct pa_path_stat rows[] = {
		{ .name = "<module>", .file = "[jit]", .nr_samples = 100, .source = "/srv/app.py" },
		{ .continues = true,
		  .name = "main",
		  .file = "[jit]",
		  .nr_samples = 100,
		  .source = "/srv/app.py" },
		{ .continues = true,
		  .name = "work",
		  .file = "[jit]",
		  .nr_samples = 99,
		  .source = "/srv/app.py" },
	};
	struct pa_summary s = sample();
	struct report_options opts = { .max_cols = TEXT_NO_LIMIT, .sort = REPORT_SORT_TOTAL };

	s.functions_by_total = list;
	s.nr_functions_by_total = 7;
	s.paths = rows;
	s.nr_paths = 3;
	has(&s,
	    "by total time\n    0.99  99.0%   0.0%  work [app.py] and 2 more\n"
	    "    0.40  40.0%   0.0%  load [app.py]\n\n",
	    "functions: the innermost of a script stands for its callers, start code is left out");
	check_with(&s, &opts,
		   "by total time\n    1.00 100.0%   0.0%  <module> [app.py]\n"
		   "    1.00 100.0%   2.0%  eval [a]\n"
		   "    1.00 100.0%   0.0%  main [app.py]\n"
		   "    0.99  99.0%   0.0%  work [app.py]\n",
		   true, "--sort total: nothing is left out but start code");
}

static void test_outputs(void)
{
	struct pa_summary s = sample();
	struct report_options opts = { .max_cols = 20,
				       .json_path = "x.json",
				       .json_size_bytes = 100 };

	has(&s, "\nwrote    app-on-cpu.pb.gz (pprof, 2.0 KiB)\n", "files: path, format and size");
	check_with(&s, &opts, "\nwrote    app-on-cpu.pb.gz (pprof, 2.0 KiB)\n", true,
		   "files: a path is whole on the narrowest terminal");
	check_with(&s, &opts, "x.json (json, 100 B)", true, "files: the summary's as well");
}

int main(void)
{
	test_target();
	test_cpu_time();
	test_kernel_account();
	test_steal();
	test_runtime_hints();
	test_unnamed_code();
	test_first_screen();
	test_few_samples();
	test_commands();
	test_functions();
	test_same_totals();
	test_more_functions();
	test_functions_side_by_side();
	test_paths();
	test_starts_of_paths();
	test_scripts();
	test_functions_of_each_stack();
	test_long_names_in_files();
	test_outputs();
	return tap_done();
}
