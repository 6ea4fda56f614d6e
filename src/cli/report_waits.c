/* SPDX-License-Identifier: Apache-2.0 */
/* Where threads waited: a table, the longest total first. */
#include <inttypes.h>
#include <string.h>

#include "cli/function_name.h"
#include "cli/report_parts.h"
#include "cli/terminal_text.h"

#define NR_WAITS 10
#define NR_WAITS_VERBOSE 30
#define SMALL_PER_MILLE 5 /* a row that is smaller is left out, unless -v */
#define NR_CELLS 6
#define WIDE_COLUMNS 70 /* all columns need 54, the functions some more */
#define OTHER_STATES_SIZE 64

static size_t rows_wanted(const struct report_page *p)
{
	size_t nr = p->opts->top ? p->opts->top : p->opts->is_verbose ? NR_WAITS_VERBOSE : NR_WAITS;

	return report_min(nr, p->s->nr_waits);
}

static bool has_all_columns(const struct report_page *p)
{
	return p->opts->max_cols >= WIDE_COLUMNS;
}

/* The columns of a row, or of the heading; a narrow terminal gets the first and the last one. */
static void print_row(const struct report_page *p, const char *const cells[NR_CELLS])
{
	int used = has_all_columns(p) ? fprintf(p->out, "%7s %9s %8s  %-9s %-15s ", cells[0],
						cells[1], cells[2], cells[3], cells[4])
				      : fprintf(p->out, "%7s  ", cells[0]);

	(void)text_put(p->out, cells[5], report_columns_after(p, used < 0 ? 0 : (uint32_t)used));
	(void)fputc('\n', p->out);
}

static void print_wait(const struct report_page *p, const struct pa_wait_stat *w)
{
	char total[REPORT_TIME_SIZE], longest[REPORT_TIME_SIZE], times[REPORT_TIME_SIZE];
	const char *cells[NR_CELLS] = { report_brief_time(w->total_ns, total),
					report_brief_time(w->longest_ns, longest),
					times,
					w->state,
					w->syscall ? w->syscall : "-",
					w->functions };

	(void)snprintf(times, sizeof(times), "%" PRIu64, w->nr_intervals);
	print_row(p, cells);
}

static void print_more(const struct report_page *p, uint64_t nr)
{
	if (has_all_columns(p))
		(void)fprintf(p->out, "%7s and %" PRIu64 " more%s\n", "", nr,
			      p->opts->top          ? ""
			      : p->opts->is_verbose ? " (--top N)"
						    : " (-v)");
	else
		(void)fprintf(p->out, "%7" PRIu64 " more\n", nr);
}

void report_waits(const struct report_page *p)
{
	const struct pa_summary *s = p->s;
	static const char *const heading[NR_CELLS] = { "waited",      "longest",
						       "times",       "state",
						       "system call", "where (function < caller)" };
	size_t nr = rows_wanted(p), i;

	if (!s->nr_waits)
		return;
	print_row(p, heading);
	for (i = 0; i < nr; i++) {
		const struct pa_wait_stat *w = PA_ITEM(s, pa_wait_stat, s->waits, i);

		if (i && !p->opts->top && !p->opts->is_verbose &&
		    w->total_ns < s->off_cpu_ns / 1000 * SMALL_PER_MILLE)
			break;
		print_wait(p, w);
	}
	if (i < s->waits_seen)
		print_more(p, s->waits_seen - i);
	(void)fputc('\n', p->out);
}

/* NULL: waits were not profiled. */
static const struct pa_section *off_cpu_section(const struct pa_summary *s)
{
	for (size_t i = 0; i < s->nr_sections; i++) {
		const struct pa_section *c = PA_ITEM(s, pa_section, s->sections, i);

		if (!strcmp(c->name, "off-cpu"))
			return c;
	}
	return NULL;
}

bool report_is_off_cpu(const struct pa_summary *s)
{
	return off_cpu_section(s) && !report_ticks(s);
}

/* Intervals that the options exclude are only counted: then threads did wait. */
static void print_no_waits(const struct report_page *p)
{
	const struct pa_section *c = off_cpu_section(p->s);
	uint64_t nr_short = report_count_of(c->counts, c->nr_counts, "too_short");
	uint64_t nr_other = report_count_of(c->counts, c->nr_counts, "other_states");
	char other[OTHER_STATES_SIZE] = "";

	if (nr_other)
		(void)snprintf(other, sizeof(other),
			       "%s%" PRIu64 " in other states (--offcpu-states)",
			       nr_short ? ", " : "", nr_other);
	if (nr_short)
		report_sentence(p, "no waits to show: %" PRIu64 " too short (--min-block)%s",
				nr_short, other);
	else if (nr_other)
		report_sentence(p, "no waits to show: %s", other);
	else
		report_sentence(p, "no thread of the target waited");
}

void report_off_cpu(const struct report_page *p)
{
	const struct pa_summary *s = p->s;
	char total[REPORT_TIME_SIZE];

	if (s->off_cpu_intervals)
		report_sentence(p, "%s off the CPU in %" PRIu64 " interval%s",
				report_brief_time(s->off_cpu_ns, total), s->off_cpu_intervals,
				text_plural(s->off_cpu_intervals));
	else
		print_no_waits(p);
}
