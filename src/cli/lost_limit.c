/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/lost_limit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/terminal_text.h"

#define OPTION_SIZE 32

/* Appends to text; truncates what does not fit. */
__attribute__((format(printf, 2, 3))) static void append(char text[LOST_LIMIT_TEXT_SIZE],
							 const char *fmt, ...)
{
	size_t len = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text + len, LOST_LIMIT_TEXT_SIZE - len, fmt, ap);
	va_end(ap);
}

/* "--strict: 490 of 1590 ticks (30.8%)", then ", 3 of …" */
static void append_section(char text[LOST_LIMIT_TEXT_SIZE], const char *option,
			   const struct pa_section *c)
{
	append(text, "%s%s%" PRIu64 " of %" PRIu64 " %s (%.1f%%)", *text ? "" : option,
	       *text ? ", " : ": ", c->lost, c->due, c->due == 1 ? c->unit : c->units,
	       text_percent(c->lost, c->due));
}

static void append_sections(char text[LOST_LIMIT_TEXT_SIZE], const char *option,
			    const struct pa_summary *s, double max_percent)
{
	for (size_t i = 0; i < s->nr_sections; i++) {
		const struct pa_section *c = PA_ITEM(s, pa_section, s->sections, i);

		if (c->lost && text_percent(c->lost, c->due) > max_percent)
			append_section(text, option, c);
	}
}

static void check_strict(const struct pa_summary *s, char text[LOST_LIMIT_TEXT_SIZE])
{
	append_sections(text, "--strict", s, -1);
	if (s->sideband_lost)
		append(text, "%s%" PRIu64 " record%s about processes and mappings",
		       *text ? ", " : "--strict: ", s->sideband_lost,
		       text_plural(s->sideband_lost));
	if (*text)
		append(text, " lost");
}

static void check_percent(const struct pa_summary *s, double max_percent,
			  char text[LOST_LIMIT_TEXT_SIZE])
{
	char option[OPTION_SIZE];

	(void)snprintf(option, sizeof(option), "--max-lost %g", max_percent);
	append_sections(text, option, s, max_percent);
	if (*text)
		append(text, " lost");
}

const char *lost_limit_exceeded(const struct options *o, const struct pa_summary *s,
				char text[LOST_LIMIT_TEXT_SIZE])
{
	text[0] = '\0';
	if (o->strict)
		check_strict(s, text);
	if (!*text && o->max_lost_percent != OPTIONS_NO_MAX_LOST)
		check_percent(s, o->max_lost_percent, text);
	if (!*text && s->nr_unnamed_by_rule)
		append(text, "--symbol-fail-closed: %" PRIu64 " file%s left without symbols",
		       s->nr_unnamed_by_rule, text_plural(s->nr_unnamed_by_rule));
	return *text ? text : NULL;
}
