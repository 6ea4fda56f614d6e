/* SPDX-License-Identifier: Apache-2.0 */
/* The accounts of all events, and the agent's own activity: with -v only, except for the
 * overhead. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/duration.h"
#include "cli/report_parts.h"
#include "cli/scope.h"
#include "cli/terminal_text.h"

#define LABEL_LENGTH_MAX 8 /* longer labels become part of the text */

/* Events that are due but in none of the sums. */
static int64_t unexplained(const struct pa_summary *s, const struct pa_section *c)
{
	uint64_t sum = c->samples + c->lost;

	for (size_t i = 0; i < c->nr_counts; i++)
		sum += PA_ITEM(s, pa_count, c->counts, i)->count;
	return (int64_t)(c->due - sum);
}

/* "10 due = 4 idle + 1 other + 5 samples + 0 lost" */
static void print_section(const struct report_page *p, const struct pa_section *c)
{
	bool is_label = strlen(c->units) <= LABEL_LENGTH_MAX;
	_cleanup_(freep) char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return; /* the line is left out */
	for (size_t i = 0; i < c->nr_counts; i++) {
		const struct pa_count *count = PA_ITEM(p->s, pa_count, c->counts, i);

		(void)fprintf(f, "%" PRIu64 " %s + ", count->count, count->text);
	}
	(void)fprintf(f, "%" PRIu64 " sample%s + %" PRIu64 " lost", c->samples,
		      text_plural(c->samples), c->lost);
	if (unexplained(p->s, c))
		(void)fprintf(f, " + %" PRId64 " unexplained", unexplained(p->s, c));
	if (fclose(f) == 0)
		report_line(p, is_label ? c->units : "events", "%s%s%" PRIu64 " due = %s",
			    is_label ? "" : c->units, is_label ? "" : ": ", c->due, text);
}

static void print_sections(const struct report_page *p)
{
	for (size_t i = 0; i < p->s->nr_sections; i++) {
		const struct pa_section *c = PA_ITEM(p->s, pa_section, p->s->sections, i);

		if (p->opts->is_verbose || unexplained(p->s, c))
			print_section(p, c);
		if (unexplained(p->s, c))
			report_line(p, "",
				    "unexplained events are a bug in perf-agent; report them");
	}
}

static void print_walks(const struct report_page *p)
{
	const struct pa_summary *s = p->s;
	char rate[sizeof(" at 4294967295 Hz")] = "";

	if (!report_is_off_cpu(s))
		(void)snprintf(rate, sizeof(rate), " at %u Hz", s->sample_rate_hz);
	report_line(p, "samples", "%" PRIu64 "%s in %" PRIu64 " different stack%s", s->samples,
		    rate, s->nr_stacks, text_plural(s->nr_stacks));
	if (s->walks_finished)
		report_line(p, "unwound",
			    "%" PRIu64 " stack%s by the agent, from where the kernel had to stop",
			    s->walks_finished, text_plural(s->walks_finished));
}

static double ms_of(uint64_t ns)
{
	return (double)ns * 1e3 / NS_PER_S;
}

static void print_symbolizing(const struct report_page *p)
{
	const struct pa_summary *s = p->s;

	if (!s->naming_batches)
		return;
	report_line(p, "resolved",
		    "%" PRIu64 " address%s in %" PRIu64
		    " batch%s (p50 %.1f ms, p99 %.1f ms, max %.1f ms); %" PRIu64 " raw, %" PRIu64
		    " fallback%s",
		    s->naming_addresses, s->naming_addresses == 1 ? "" : "es", s->naming_batches,
		    s->naming_batches == 1 ? "" : "es", ms_of(s->naming_p50_ns),
		    ms_of(s->naming_p99_ns), ms_of(s->naming_max_ns), s->naming_raw,
		    s->naming_fallbacks, text_plural(s->naming_fallbacks));
	if (s->naming_shared)
		report_line(p, "", "%" PRIu64 " address%s known from another profile of this run",
			    s->naming_shared, s->naming_shared == 1 ? "" : "es");
	for (size_t i = 0; i < s->nr_naming_failures; i++) {
		const struct pa_count *c = PA_ITEM(s, pa_count, s->naming_failures, i);

		if (c->count)
			report_line(p, "", "%" PRIu64 " without a symbol: %s", c->count, c->text);
	}
}

static void print_tables(const struct report_page *p)
{
	const struct pa_summary *s = p->s;
	char size[TEXT_SIZE_SIZE];

	if (s->nr_tables)
		report_line(p, "tables",
			    "unwind tables of %" PRIu64 " file%s, %s at most; %" PRIu64
			    " dropped to make room",
			    s->nr_tables, text_plural(s->nr_tables),
			    text_size(s->tables_peak_bytes, size), s->tables_evicted);
	if (s->nr_tables)
		report_line(p, "",
			    "%" PRIu64 " shared by equal files; %" PRIu64
			    " rows are left to the agent; %" PRIu64 " entries are about no code",
			    s->tables_shared, s->table_rows_in_agent, s->cfi_unused);
	if (s->notices_lost)
		report_line(p, "woken", "late %" PRIu64 " time%s: the ring was full",
			    s->notices_lost, text_plural(s->notices_lost));
}

void report_accounts(const struct report_page *p)
{
	print_sections(p);
	if (!p->opts->is_verbose)
		return;
	if (report_has_profile(p->s))
		print_walks(p);
	print_symbolizing(p);
	print_tables(p);
}

/* "0.002 s in BPF programs: pa_oncpu 0.002 s (1980 runs)" */
static void print_programs(const struct report_page *p)
{
	const struct pa_summary *s = p->s;
	_cleanup_(freep) char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return; /* the line is left out */
	for (size_t i = 0; i < s->nr_programs; i++) {
		const struct pa_program_stat *program = PA_ITEM(s, pa_program_stat, s->programs, i);

		if (program->nr_runs)
			(void)fprintf(f, "%s%s %.1f ms (%" PRIu64 " run%s)", i ? ", " : "",
				      program->name, ms_of(program->run_ns), program->nr_runs,
				      text_plural(program->nr_runs));
	}
	if (fclose(f) == 0 && *text)
		report_line(p, "", "%.1f ms in BPF programs: %s", ms_of(s->programs_ns), text);
	else if (s->no_program_times)
		report_line(p, "", "BPF programs not measured: %s", s->no_program_times);
}

void report_overhead(const struct report_page *p)
{
	const struct pa_summary *s = p->s;
	char size[TEXT_SIZE_SIZE];

	report_line(p, "overhead", "%.2f s CPU while sampling (%.2f s in all), %s peak",
		    (double)s->agent_sampling_cpu_ns / NS_PER_S, (double)s->agent_cpu_ns / NS_PER_S,
		    text_size(s->agent_peak_rss_bytes, size));
	if (!p->opts->is_verbose)
		return;
	report_line(p, "", "woken up %" PRIu64 " time%s while sampling (%" PRIu64 " in all)",
		    s->agent_sampling_wakeups, text_plural(s->agent_sampling_wakeups),
		    s->agent_wakeups);
	print_programs(p);
}
