/* SPDX-License-Identifier: Apache-2.0 */
/* In how many processes Python's own functions were switched on, and why not in others. */
#include <inttypes.h>
#include <string.h>

#include "cli/report_parts.h"
#include "cli/terminal_text.h"

/* False for counts that are not of skipped processes. */
static bool is_skipped(const char *name)
{
	static const char *const others[] = { "switched_on", "already_on", "switched_off",
					      "off_queued",  "left_on",    "ended" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(name, others[i]))
			return false;
	return true;
}

static void print_skipped(const struct report_page *p)
{
	const struct pa_summary *s = p->s;

	for (size_t i = 0; i < s->nr_python; i++) {
		const struct pa_count *c = PA_ITEM(s, pa_count, s->python, i);

		if (c->count && is_skipped(c->name) &&
		    (p->opts->is_verbose || strcmp(c->name, "not_python") != 0))
			report_line(p, "", "%" PRIu64 " skipped: %s", c->count, c->text);
	}
}

void report_python(const struct report_page *p)
{
	const struct pa_summary *s = p->s;
	uint64_t on = report_count_of(s->python, s->nr_python, "switched_on");
	uint64_t already = report_count_of(s->python, s->nr_python, "already_on");
	uint64_t queued = report_count_of(s->python, s->nr_python, "off_queued");
	uint64_t left = report_count_of(s->python, s->nr_python, "left_on");

	if (!s->nr_python)
		return;
	if (already)
		report_line(p, "python",
			    "functions switched on in %" PRIu64
			    " process%s; on already in %" PRIu64,
			    on, on == 1 ? "" : "es", already);
	else
		report_line(p, "python", "functions switched on in %" PRIu64 " process%s", on,
			    on == 1 ? "" : "es");
	print_skipped(p);
	if (queued)
		report_line(p, "", "%" PRIu64 " idle: switched off when it next runs Python code",
			    queued);
	if (left)
		report_line(p, "",
			    "%" PRIu64 " could not be switched off: a few percent slower until it "
			    "ends",
			    left);
}
