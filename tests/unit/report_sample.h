/* SPDX-License-Identifier: Apache-2.0 */
/* A summary with something of everything, and checks of the report that is printed of it. */
#ifndef REPORT_SAMPLE_H
#define REPORT_SAMPLE_H

#include <string.h>

#include "cli/report.h"
#include "cli/terminal_text.h"
#include "item_sizes.h"
#include "tap.h"

static const struct pa_function_stat functions[] = {
	{ "hot", "/usr/bin/app", 60, 61, false },
	{ "\x1b[2Jevil\n", "/tmp/\x1b]0;evil\x07", 20, 20, false },
	{ "a_function_whose_name_is_far_too_long_for_any_terminal_that_is_eighty_columns_wide",
	  "/usr/lib/a_library_with_a_long_name_of_its_own_that_takes_half_the_line.so", 10, 10,
	  false },
	{ "", "[jit]", 5, 6, true },
};

static const struct pa_function_stat by_total[] = {
	{ "serve", "/usr/bin/app", 1, 95, false },
	{ "hot", "/usr/bin/app", 60, 61, false },
	{ "parse", "/usr/bin/app", 0, 30, false },
};

static const struct pa_command_stat commands[] = {
	{ "cc1", 80, 8, 7 },
	{ "ld", 15, 5, 1 },
	{ "\x1b[2Jsh\n", 4, 4, 12 },
};

static const struct pa_path_stat paths[] = {
	{ .depth = 0, .name = "main", .file = "/usr/bin/app", .nr_samples = 98 },
	{ .depth = 0, .continues = true, .name = "loop", .file = "/usr/bin/app", .nr_samples = 97 },
	{ .depth = 1, .name = "serve", .file = "/usr/bin/app", .nr_samples = 60 },
	{ .depth = 1,
	  .continues = true,
	  .name = "hot",
	  .file = "/usr/bin/app",
	  .nr_samples = 59,
	  .nr_skipped = 2 },
	{ .depth = 1, .file = "[jit]", .nr_samples = 30, .is_unnamed = true, .name = "" },
};

static const struct pa_unnamed_stat unnamed[] = {
	{ "/opt/libstripped.so", 5, "it has no symbol table", "install its debug package" },
	{ "/opt/libother.so", 3, "it is not readable", NULL },
	{ "/opt/libthird.so", 2, "it has no symbol table", "install its debug package" },
};

static const struct pa_output_stat outputs[] = { { "pprof", "app-on-cpu.pb.gz", 2048 } };

static const struct pa_truncation_stat truncated[] = {
	{ "b", "stopped for b", "/usr/lib/b.so", 4, "rebuild b" },
	{ "c", "stopped for c", "/usr/lib/c.so", 3, NULL },
	{ "c", "stopped for c", "/usr/lib/d.so", 2, NULL },
	{ "a", "stopped for a", "/usr/lib/a.so", 1, NULL },
	{ "e", "stopped for e", "/usr/lib/e.so", 1, NULL },
};

static struct pa_count losses[] = { { "x", "lost by x", 0 }, { "y", "lost by y", 0 } };

static struct pa_count counts[] = {
	{ "idle", "idle", 0 },
	{ "other", "other", 0 },
	{ "outside", "outside", 0 },
};

static struct pa_section sections[2]; /* the first is on-CPU's */
static struct pa_section *const ticks = &sections[0];
static uint64_t *const idle = &counts[0].count, *const other = &counts[1].count;

static inline struct pa_summary sample(void)
{
	losses[0].count = losses[1].count = 0;
	*idle = 750;
	*other = 150;
	*ticks = (struct pa_section){
		.name = "on-cpu",
		.unit = "tick",
		.units = "ticks",
		.due = 1000,
		.counts = counts,
		.nr_counts = 3,
		.samples = 100,
		.losses = losses,
		.nr_losses = 2,
	};
	return (struct pa_summary){
		.sz = sizeof(struct pa_summary),
		ITEM_SIZES,
		.version = "1",
		.target_text = "PID 4711 (app)",
		.end_reason = "duration",
		.host = "db1",
		.kernel_release = "6.18.5",
		.event = "cpu-clock",
		.period = 10000000,
		.sample_rate_hz = 100,
		.duration_ns = 10000000000,
		.duration_asked_ns = 10000000000,
		.nr_cpus = 4,
		.sections = sections,
		.nr_sections = 1,
		.samples = 100,
		.nr_stacks = 12,
		.nr_processes = 1,
		.stacks_complete = 90,
		.truncations = truncated,
		.nr_truncations = 5,
		.truncations_seen = 5,
		.truncations_samples = 11,
		.nr_locations = 10,
		.nr_locations_named = 9,
		.kernel_symbols = "kallsyms",
		.functions = functions,
		.nr_functions = 4,
		.functions_seen = 4,
		.functions_self = 95,
		.functions_by_total = by_total,
		.nr_functions_by_total = 3,
		.commands = commands,
		.nr_commands = 1,
		.commands_seen = 1,
		.paths = paths,
		.nr_paths = 5,
		.unnamed = unnamed,
		.nr_unnamed = 3,
		.unnamed_seen = 3,
		.unnamed_samples = 10,
		.outputs = outputs,
		.nr_outputs = 1,
		.agent_cpu_ns = 100000000,
		.agent_sampling_cpu_ns = 40000000,
		.agent_peak_rss_bytes = 32 << 20,
		.steal_ns = PA_UNKNOWN,
		.targets_cpu_ns = PA_UNKNOWN,
	};
}

/* The caller frees it. */
static inline char *print(const struct pa_summary *s, const struct report_options *opts)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	must(f);
	report_print(s, opts, f);
	must(fclose(f) == 0 && text);
	return text;
}

static inline void check_with(const struct pa_summary *s, const struct report_options *opts,
			      const char *part, bool is_there, const char *what)
{
	char *text = print(s, opts);

	if (!ok((strstr(text, part) != NULL) == is_there, "%s", what))
		printf("# looked for '%s'\n", part);
	free(text);
}

static const struct report_options wide = { .max_cols = TEXT_NO_LIMIT };
static const struct report_options verbose = { .max_cols = TEXT_NO_LIMIT, .is_verbose = true };

static inline void has(const struct pa_summary *s, const char *part, const char *what)
{
	check_with(s, &wide, part, true, what);
}

static inline void has_not(const struct pa_summary *s, const char *part, const char *what)
{
	check_with(s, &wide, part, false, what);
}

#endif
