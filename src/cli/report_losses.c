/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "cli/report_parts.h"
#include "cli/scope.h"
#include "cli/terminal_text.h"

#define NR_UNANSWERED 3
#define MUCH_LOST_PERCENT 10
#define STEAL_TEXT_SIZE 64

static uint64_t samples_lost(const struct pa_summary *s)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < s->nr_sections; i++)
		lost += PA_ITEM(s, pa_section, s->sections, i)->lost;
	return lost;
}

/* Ticks and intervals are not added up: there can be a thousand times as many of one kind. */
bool report_has_lost_much(const struct pa_summary *s)
{
	for (size_t i = 0; i < s->nr_sections; i++) {
		const struct pa_section *c = PA_ITEM(s, pa_section, s->sections, i);

		if (c->due && c->lost * 100 >= c->due * MUCH_LOST_PERCENT)
			return true;
	}
	return false;
}

/* Why the kernel delivered fewer: "; the host took 31% of the CPU time (steal)". */
static const char *steal_text(const struct pa_summary *s, const struct pa_section *c,
			      const struct pa_count *loss, char text[STEAL_TEXT_SIZE])
{
	double percent = text_percent(s->steal_ns, s->duration_ns * s->nr_cpus);

	text[0] = '\0';
	if (s->steal_ns != PA_UNKNOWN && percent >= 1 && c == report_ticks(s) &&
	    !strcmp(loss->name, "not_delivered"))
		(void)snprintf(text, STEAL_TEXT_SIZE,
			       "; the host took %.0f%% of the CPU time (steal)", percent);
	return text;
}

/* Whose events these were is not known. Of waits, a few lost ones may be more than the targets had in all:
 * then it must be said what they are a share of. */
static const char *share_of(const struct pa_summary *s, const struct pa_section *c)
{
	if (c == report_ticks(s))
		return "";
	for (size_t i = 0; i < c->nr_counts; i++) {
		const struct pa_count *count = PA_ITEM(s, pa_count, c->counts, i);

		if (!strcmp(count->name, "other") && count->count)
			return " of those of all processes";
	}
	return "";
}

static void print_section_losses(const struct report_page *p, const struct pa_section *c)
{
	char share[TEXT_SHARE_SIZE], steal[STEAL_TEXT_SIZE];

	for (size_t i = 0; i < c->nr_losses; i++) {
		const struct pa_count *loss = PA_ITEM(p->s, pa_count, c->losses, i);

		if (loss->count)
			report_line(p, "lost", "%" PRIu64 " %s (%s%s): %s%s", loss->count,
				    loss->count == 1 ? c->unit : c->units,
				    text_share(loss->count, c->due, share), share_of(p->s, c),
				    loss->text, steal_text(p->s, c, loss, steal));
	}
}

void report_losses(const struct report_page *p)
{
	const struct pa_summary *s = p->s;

	if (!samples_lost(s) && !s->sideband_lost)
		report_line(p, "lost", "nothing");
	for (size_t i = 0; i < s->nr_sections; i++)
		print_section_losses(p, PA_ITEM(s, pa_section, s->sections, i));
	if (s->sideband_lost)
		report_line(p, "lost", "%" PRIu64 " record%s about processes and mappings",
			    s->sideband_lost, text_plural(s->sideband_lost));
}

/* Processes and files that did not answer in time; their code has no symbols. */
static void print_unanswered(const struct report_page *p)
{
	const struct pa_summary *s = p->s;
	size_t nr = p->opts->is_verbose ? s->nr_unanswered
					: report_min(s->nr_unanswered, NR_UNANSWERED);

	for (size_t i = 0; i < nr; i++) {
		const struct pa_unanswered_stat *u =
			PA_ITEM(s, pa_unanswered_stat, s->unanswered, i);
		_cleanup_(freep) char *what = text_path(u->what);

		if (u->pid)
			report_line(p, "silent", "PID %u: no answer from %s; not asked again",
				    u->pid, what ? what : "?");
		else
			report_line(p, "silent", "no answer from %s; not asked again",
				    what ? what : "?");
	}
	if (s->unanswered_seen > nr)
		report_line(p, "silent", "%" PRIu64 " more", s->unanswered_seen - nr);
}

static void print_gaps(const struct report_page *p, const struct pa_count *gaps, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct pa_count *gap = PA_ITEM(p->s, pa_count, gaps, i);

		if (gap->count) /* the texts speak of several */
			report_line(p, "gaps", "%" PRIu64 " %s%s", gap->count,
				    gap->count == 1 ? "case: " : "", gap->text);
	}
}

void report_gaps(const struct report_page *p)
{
	const struct pa_summary *s = p->s;

	print_unanswered(p);
	print_gaps(p, s->gaps, s->nr_gaps);
	print_gaps(p, s->pmu_gaps, s->nr_pmu_gaps);
	if (s->tables_refused)
		report_line(p, "gaps",
			    "%" PRIu64 " unwind tables had no room in the kernel; the agent "
			    "unwound those stacks itself",
			    s->tables_refused);
}
