/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a profile that was read from a file. Any program may have written it, so only what
 * the file contains is reported. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/duration.h"
#include "cli/report_parts.h"
#include "cli/scope.h"
#include "cli/terminal_text.h"

#define NR_LABEL_VALUES 8
#define NR_LABEL_VALUES_VERBOSE 30
#define TIME_SIZE 32

/* ", 3.1s from 2026-11-18 14:46:02", as far as it is known. */
static void put_time(FILE *f, const struct pa_summary *s)
{
	time_t start = (time_t)(s->start_time_ns / NS_PER_S);
	char text[TIME_SIZE], duration[DURATION_TEXT_SIZE];
	struct tm tm;

	if (s->duration_ns)
		(void)fprintf(f, ", %s", duration_format_brief(s->duration_ns, duration));
	if (start && localtime_r(&start, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
		(void)fprintf(f, "%s%s", s->duration_ns ? " from " : ", ", text);
}

/* "on-cpu.pb.gz: make -j2, 3.1s from 2026-11-18 14:46:02, on build1" */
static void print_source(const struct report_page *p)
{
	const struct pa_summary *s = p->s;
	_cleanup_(freep) char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return; /* the line is left out */
	(void)text_put(f, strcmp(s->source_file, "-") ? s->source_file : "standard input",
		       TEXT_NO_LIMIT);
	(void)fputs(s->target_text ? ": " : "", f);
	(void)text_put(f, s->target_text ? s->target_text : "", TEXT_NO_LIMIT);
	put_time(f, s);
	if (s->host) {
		(void)fputs(", on ", f);
		(void)text_put(f, s->host, TEXT_NO_LIMIT);
	}
	if (fclose(f) == 0)
		report_sentence(p, "%s", text);
}

/* "; also alloc_space (--type)" */
static void put_other_types(FILE *f, const struct pa_summary *s)
{
	const char *shown = s->value_type ? s->value_type : "samples";
	size_t len = strlen(shown), nr = 0;

	for (size_t i = 0; i < s->nr_value_types; i++) {
		const char *type = s->value_types[i];

		if (!strncmp(type, shown, len) && type[len] == '/')
			continue;
		if (!s->value_type && !strcmp(type, "cpu/nanoseconds"))
			continue; /* only the unit differs */
		(void)fputs(nr++ ? ", " : "; also has ", f);
		(void)text_put(f, type, TEXT_NO_LIMIT);
	}
	(void)fputs(nr ? " (--type)" : "", f);
}

/* "2.97s CPU in 297 samples, 1 process", "12.5 MiB of inuse_space; also has alloc_space/bytes (--type)",
 * "362 intervals, 1 process" */
static void print_amount(const struct report_page *p)
{
	const struct pa_summary *s = p->s;
	char amount[REPORT_AMOUNT_SIZE];
	_cleanup_(freep) char *text = NULL;
	double unused;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	(void)fputs(report_amount(s, s->samples, amount), f);
	(void)fputs(report_cpu_s(s, 0, &unused) ? "s" : "", f);
	if (s->value_type) {
		(void)fputs(report_is_count(s) ? " " : " of ", f);
		(void)text_put(f, s->value_type, TEXT_NO_LIMIT);
	} else {
		(void)fprintf(f, " CPU in %" PRIu64 " sample%s", s->samples,
			      text_plural(s->samples));
	}
	if (s->nr_processes)
		(void)fprintf(f, ", %" PRIu64 " process%s", s->nr_processes,
			      s->nr_processes == 1 ? "" : "es");
	put_other_types(f, s);
	if (fclose(f) == 0)
		report_sentence(p, "%s", text);
}

static void print_label_row(const struct report_page *p, uint64_t nr_samples, const char *value)
{
	uint32_t used = report_cpu_s_column(p, nr_samples);

	used += report_share_column(p, nr_samples);
	(void)fputs("  ", p->out);
	(void)text_put(p->out, value, report_columns_after(p, used + 2));
	(void)fputc('\n', p->out);
}

/* Prints the table of commands, if there are several; with --by also for a single value. */
static void print_label_values(const struct report_page *p)
{
	const struct pa_summary *s = p->s;
	size_t max = p->opts->top          ? p->opts->top
		     : p->opts->is_verbose ? NR_LABEL_VALUES_VERBOSE
					   : NR_LABEL_VALUES;
	size_t nr = report_min(max, s->nr_label_values);
	uint64_t rest = s->samples;
	char more[64];

	if (!s->label || (!p->opts->shows_label && s->label_values_seen < 2))
		return;
	(void)report_cpu_s_heading(p);
	(void)fprintf(p->out, "%*s  ", REPORT_SHARE_COLUMNS, "share");
	(void)text_put(p->out, strcmp(s->label, "comm") ? s->label : "command", TEXT_NO_LIMIT);
	(void)fputc('\n', p->out);
	for (size_t i = 0; i < nr; i++) {
		const struct pa_label_stat *v = PA_ITEM(s, pa_label_stat, s->label_values, i);

		print_label_row(p, v->nr_samples, v->value);
		rest -= v->nr_samples;
	}
	if (s->label_values_seen > nr) {
		(void)snprintf(more, sizeof(more), "%" PRIu64 " more%s", s->label_values_seen - nr,
			       p->opts->top ? "" : " (--top N)");
		print_label_row(p, rest, more);
	}
	(void)fputc('\n', p->out);
}

void report_print_file(const struct pa_summary *s, const struct report_options *opts, FILE *out)
{
	const struct report_page page = { s, opts, out, SIZE_MAX };

	print_source(&page);
	print_amount(&page);
	(void)fputc('\n', out);
	if (!s->samples) {
		report_sentence(&page, "no values: nothing is shown");
		return;
	}
	print_label_values(&page);
	report_functions(&page);
	report_paths(&page);
	if (s->stacks_complete || s->no_user_stack || s->truncations_samples)
		report_stacks(&page);
	report_symbols(&page);
}
