/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report.h"

#include <stdlib.h>
#include <string.h>

#include "cli/report_parts.h"
#include "cli/scope.h"
#include "cli/terminal_text.h"

#define MUCH_UNNAMED_PERCENT 50
#define FIRST_SCREEN 20 /* lines in which the tables and the hottest path must begin */
#define ROWS_MIN 2      /* rows of each table, however many lines the others take */
#define ROWS_MAX 8
#define PATHS_LINES 3 /* lines of the hot paths on the first screen: the heading and two rows */

static void print_output(FILE *out, const char *path, const char *kind, uint64_t size_bytes)
{
	char size[TEXT_SIZE_SIZE];

	(void)fputs("wrote    ", out);
	/* never shortened or wrapped, so that the path can be copied */
	(void)text_put(out, strcmp(path, "-") ? path : "standard output", TEXT_NO_LIMIT);
	(void)fprintf(out, " (%s, %s)\n", kind, text_size(size_bytes, size));
}

void report_outputs(const struct report_page *p)
{
	const struct pa_summary *s = p->s;

	for (size_t i = 0; i < s->nr_outputs; i++) {
		const struct pa_output_stat *o = PA_ITEM(s, pa_output_stat, s->outputs, i);

		print_output(p->out, o->path, o->format, o->size_bytes);
	}
	if (p->opts->json_path)
		print_output(p->out, p->opts->json_path, "json", p->opts->json_size_bytes);
}

/* If most samples are in code without even an offset in a file, the list of functions is useless:
 * then the reason and the fix come before it, unless a hint says both. */
static bool is_mostly_unnamed(const struct pa_summary *s)
{
	uint64_t nr = 0;

	if (report_is_off_cpu(s) ||
	    (s->nr_hints && report_is_main_hint(s, PA_ITEM(s, pa_hint, s->hints, 0))))
		return false;
	for (size_t i = 0; i < s->nr_functions; i++) {
		const struct pa_function_stat *f = PA_ITEM(s, pa_function_stat, s->functions, i);

		nr += f->is_unnamed ? f->nr_self : 0;
	}
	return nr * 100 > s->samples * MUCH_UNNAMED_PERCENT;
}

/* The statistics themselves are an output. */
static void print_without_profile(const struct report_page *p)
{
	report_threads(p);
	report_outputs(p);
	report_gaps(p);
	report_accounts(p);
	report_overhead(p);
}

/* Prints the head, and the tables before the hot paths. */
static void print_tables(const struct report_page *p)
{
	report_head(p);
	if (report_has_lost_much(p->s))
		report_losses(p);
	(void)fputc('\n', p->out);
	if (report_is_off_cpu(p->s))
		return;
	report_commands(p);
	report_main_hints(p);
	if (is_mostly_unnamed(p->s)) {
		report_symbols(p);
		(void)fputc('\n', p->out);
	}
	report_functions(p);
}

static void print_paths(const struct report_page *p)
{
	report_paths(p);
	if (!p->s->off_cpu_intervals)
		return;
	report_off_cpu(p);
	(void)fputc('\n', p->out);
}

static void print_quality(const struct report_page *p)
{
	if (!p->s->samples && p->s->nr_sections < 2)
		return;
	report_stacks(p);
	if (!is_mostly_unnamed(p->s))
		report_symbols(p);
	report_debug_files(p);
	report_limits(p);
}

/* 0: unknown, because it is out of memory. */
static size_t count_table_lines(const struct report_page *p)
{
	_cleanup_(freep) char *text = NULL;
	struct report_page counted = *p;
	size_t len, nr = 0;

	counted.out = open_memstream(&text, &len);
	if (!counted.out)
		return 0;
	print_tables(&counted);
	if (fclose(counted.out) != 0)
		return 0;
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		nr++;
	return nr;
}

/* The number of rows with which the hot paths begin on the first screen. */
static size_t choose_max_rows(const struct report_page *page)
{
	struct report_page p = *page;

	for (p.max_rows = ROWS_MAX; p.max_rows > ROWS_MIN; p.max_rows--)
		if (count_table_lines(&p) + PATHS_LINES <= FIRST_SCREEN)
			break;
	return p.max_rows;
}

/* The functions come first, then what is missing; if most of them are missing, in the opposite
 * order. */
void report_print(const struct pa_summary *s, const struct report_options *opts, FILE *out)
{
	struct report_page page = { s, opts, out, ROWS_MAX };

	if (!report_has_profile(s)) {
		report_head(&page);
		print_without_profile(&page);
		return;
	}
	page.max_rows = choose_max_rows(&page);
	print_tables(&page);
	if (!report_is_off_cpu(s))
		print_paths(&page);
	report_waits(&page);
	report_threads(&page);
	report_outputs(&page);
	report_python(&page);
	print_quality(&page);
	if (!report_has_lost_much(s))
		report_losses(&page);
	report_gaps(&page);
	report_accounts(&page);
	report_overhead(&page);
}
