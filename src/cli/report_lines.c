/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_lines.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/duration.h"
#include "cli/flag_names.h"
#include "cli/scope.h"
#include "cli/terminal_text.h"

#define LABEL_COLUMNS 9
#define NARROW_COLUMNS 50  /* if narrower, labels have their own lines and tables drop columns */
#define NARROW_INDENT 2    /* of text below a label on its own line */
#define DEEPER_COLUMNS 2   /* of a reason or a fix below its subject */
#define CPU_S_COLUMNS 8    /* " 1234.56" */
#define AMOUNT_COLUMNS 12  /* "  1234.5 MiB" */
#define BESIDE_GAP 3       /* between two texts side by side */
#define CPU_S_EXACT 9999.9 /* larger values have no decimals */

bool report_is_wide(const struct report_page *p)
{
	return p->opts->max_cols >= NARROW_COLUMNS;
}

uint32_t report_columns_after(const struct report_page *p, uint32_t used)
{
	if (p->opts->max_cols == TEXT_NO_LIMIT)
		return TEXT_NO_LIMIT;
	return p->opts->max_cols > used ? p->opts->max_cols - used : 1;
}

static uint32_t label_indent(const struct report_page *p)
{
	return report_is_wide(p) ? LABEL_COLUMNS : NARROW_INDENT;
}

/* Writes NULs into text. */
static void put_labelled(const struct report_page *p, const char *label, uint32_t indent,
			 char *text)
{
	if (report_is_wide(p) || !*label)
		(void)fprintf(p->out, "%-*s", (int)indent, label);
	else
		(void)fprintf(p->out, "%s\n%*s", label, (int)indent, "");
	text_wrap(p->out, text, report_columns_after(p, indent), indent);
	(void)fputc('\n', p->out);
}

/* The caller frees the text. NULL: out of memory; the line is left out. */
__attribute__((format(printf, 1, 0))) static char *format_text(const char *fmt, va_list ap)
{
	char *text;

	return vasprintf(&text, fmt, ap) < 0 ? NULL : text;
}

void report_line(const struct report_page *p, const char *label, const char *fmt, ...)
{
	_cleanup_(freep) char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = format_text(fmt, ap);
	va_end(ap);
	if (text)
		put_labelled(p, label, label_indent(p), text);
}

void report_sentence(const struct report_page *p, const char *fmt, ...)
{
	_cleanup_(freep) char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = format_text(fmt, ap);
	va_end(ap);
	if (text)
		put_labelled(p, "", 0, text);
}

void report_line_with_why(const struct report_page *p, const char *why, const char *fmt, ...)
{
	_cleanup_(freep) char *text = NULL, *copy = strdup(why);
	uint32_t indent = label_indent(p);
	va_list ap;

	va_start(ap, fmt);
	text = format_text(fmt, ap);
	va_end(ap);
	if (!text || !copy)
		return;
	if ((uint64_t)text_columns(text) + strlen(": ") + text_columns(why) <=
	    report_columns_after(p, indent)) {
		report_line(p, "", "%s: %s", text, why);
		return;
	}
	put_labelled(p, "", indent, text);
	put_labelled(p, "", indent + DEEPER_COLUMNS, copy);
}

void report_fix(const struct report_page *p, const char *fix)
{
	char text[sizeof("fix: ") + FLAG_NAMES_SIZE], named[FLAG_NAMES_SIZE];

	if (!fix || !*fix)
		return;
	(void)snprintf(text, sizeof(text), "fix: %s", flag_names(fix, named));
	put_labelled(p, "", label_indent(p) + DEEPER_COLUMNS, text);
}

const char *report_brief_time(uint64_t ns, char text[REPORT_TIME_SIZE])
{
	static const struct {
		uint64_t ns;
		const char *unit;
	} units[] = { { NS_PER_S, "s" }, { 1000000, "ms" }, { 1000, "us" } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		double v = (double)ns / (double)units[i].ns;

		if (ns < units[i].ns)
			continue;
		(void)snprintf(text, REPORT_TIME_SIZE, "%.*f%s",
			       v < 10    ? 2
			       : v < 100 ? 1
					 : 0,
			       v, units[i].unit);
		return text;
	}
	(void)snprintf(text, REPORT_TIME_SIZE, "%" PRIu64 "ns", ns);
	return text;
}

/* The number of seconds in a unit of pprof; 0 if it is not a unit of time. */
static double unit_seconds(const char *unit)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = { { "nanoseconds", 1e-9 },
		      { "microseconds", 1e-6 },
		      { "milliseconds", 1e-3 },
		      { "seconds", 1 } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(unit, units[i].unit))
			return units[i].seconds;
	return 0;
}

bool report_cpu_s(const struct pa_summary *s, uint64_t nr_samples, double *ret_s)
{
	double unit = s->value_unit ? unit_seconds(s->value_unit) : 0;

	*ret_s = (double)nr_samples * (s->value_unit ? unit : (double)s->period / NS_PER_S);
	return s->value_unit ? unit > 0 : !strcmp(s->event, "cpu-clock") && s->period;
}

const char *report_amount(const struct pa_summary *s, uint64_t value, char text[REPORT_AMOUNT_SIZE])
{
	char size[TEXT_SIZE_SIZE];
	double seconds;

	if (report_cpu_s(s, value, &seconds))
		(void)snprintf(text, REPORT_AMOUNT_SIZE, "%.*f", seconds < CPU_S_EXACT ? 2 : 0,
			       seconds);
	else if (s->value_unit && !strcmp(s->value_unit, "bytes"))
		(void)snprintf(text, REPORT_AMOUNT_SIZE, "%s", text_size(value, size));
	else
		(void)snprintf(text, REPORT_AMOUNT_SIZE, "%" PRIu64, value);
	return text;
}

bool report_is_count(const struct pa_summary *s)
{
	double unused;

	return !report_cpu_s(s, 0, &unused) && (!s->value_unit || !strcmp(s->value_unit, "count"));
}

/* 0 if the table has no such column. */
static uint32_t amount_columns(const struct report_page *p)
{
	double unused;

	if (!report_is_wide(p))
		return 0;
	return report_cpu_s(p->s, 0, &unused) ? CPU_S_COLUMNS
	       : p->s->value_unit             ? AMOUNT_COLUMNS
					      : 0;
}

static const char *amount_heading(const struct pa_summary *s)
{
	double unused;

	if (!s->value_unit || (!strcmp(s->value_type, "cpu") && report_cpu_s(s, 0, &unused)))
		return "cpu-s";
	return report_cpu_s(s, 0, &unused) ? "seconds" : s->value_unit;
}

uint32_t report_cpu_s_heading(const struct report_page *p)
{
	uint32_t columns = amount_columns(p);

	if (columns)
		(void)fprintf(p->out, "%*.*s", (int)columns, (int)columns - 1,
			      amount_heading(p->s));
	return columns;
}

uint32_t report_cpu_s_column(const struct report_page *p, uint64_t nr_samples)
{
	char text[REPORT_AMOUNT_SIZE];
	uint32_t columns = amount_columns(p);

	if (columns)
		(void)fprintf(p->out, "%*s", (int)columns, report_amount(p->s, nr_samples, text));
	return columns;
}

uint32_t report_share_column(const struct report_page *p, uint64_t nr_samples)
{
	char share[TEXT_SHARE_SIZE];

	(void)fprintf(p->out, "%*s", REPORT_SHARE_COLUMNS,
		      text_share(nr_samples, p->s->samples, share));
	return REPORT_SHARE_COLUMNS;
}

/* The next line of *text, up to a newline or the end; advances *text past it. Returns its length.
 */
static int next_line(const char **text, const char **ret_line)
{
	size_t len = strcspn(*text, "\n");

	*ret_line = *text;
	*text += len + ((*text)[len] == '\n');
	return (int)len;
}

static uint32_t columns_of(const char *line, int len)
{
	_cleanup_(freep) char *copy = strndup(line, (size_t)len);

	return copy ? text_columns(copy) : (uint32_t)len;
}

void report_beside(FILE *out, const char *left, const char *right)
{
	const char *line, *at = left;
	uint32_t width = 0;

	while (*at) {
		int len = next_line(&at, &line);
		uint32_t cols = columns_of(line, len);

		width = cols > width ? cols : width;
	}
	while (*left || *right) {
		int len = next_line(&left, &line);
		uint32_t cols = columns_of(line, len);

		(void)fprintf(out, "%.*s", len, line);
		if (*right) {
			len = next_line(&right, &line);
			(void)fprintf(out, "%*s%.*s", (int)(width - cols + BESIDE_GAP), "", len,
				      line);
		}
		(void)fputc('\n', out);
	}
}

uint64_t report_count_of(const struct pa_count *counts, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(counts[i].name, name))
			return counts[i].count;
	return 0;
}

const struct pa_section *report_ticks(const struct pa_summary *s)
{
	for (size_t i = 0; i < s->nr_sections; i++) {
		const struct pa_section *c = PA_ITEM(s, pa_section, s->sections, i);

		if (!strcmp(c->name, "on-cpu"))
			return c;
	}
	return NULL;
}

bool report_has_profile(const struct pa_summary *s)
{
	for (size_t i = 0; i < s->nr_sections; i++)
		if (strcmp(PA_ITEM(s, pa_section, s->sections, i)->name, "sched"))
			return true;
	return s->nr_sections == 0;
}
